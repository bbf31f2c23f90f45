package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/sumdb/note"

	"payledger/cmd/payledger/control"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
	"payledger/eventstore/verify"
	"payledger/projections"
	"payledger/projections/compare"
	"payledger/projections/sqlitefile"
)

// Verify checks the whole log, or one payment, beside a running service, in a stopped server's folder or in a back-up (I1).
type Verify struct {
	Payment   string `help:"Check the events of this payment only." placeholder:"ID"`
	All       bool   `help:"Print every fault, instead of ending at the first one."`
	Data      string `help:"Data folder, of a running service, of a stopped one, or a back-up." default:"./data" type:"path"`
	MasterKey string `help:"Key of the stream of secrets, of a stopped folder without its own key: it opens the key of the checkpoints." placeholder:"HEX"`

	MasterKeyFile string `help:"File that holds the master key." type:"path"`
}

// VerifyRequest is the body of the command verify to a running service.
type VerifyRequest struct {
	Payment domain.PaymentID `json:"payment,omitempty"`
	All     bool             `json:"all,omitempty"`
}

// verifyLine is a line of the answer: a fault, or the progress.
type verifyLine struct {
	Fault *verify.Fault `json:"fault,omitempty"`
	Done  uint64        `json:"done,omitempty"`
	Of    uint64        `json:"of,omitempty"`
}

// verified is the result of a check.
type verified struct {
	verify.Result
	Views  bool   `json:"viewsChecked"`
	Note   string `json:"note,omitempty"` // lists the parts that were not checked
	Faults int    `json:"faults"`
}

// VerifyHandler serves the command verify of a running service.
func VerifyHandler(store *eventstore.Store, vault *secrets.Store, views *projections.Projections) func(context.Context, VerifyRequest, func(any) error) (any, error) {
	return func(ctx context.Context, in VerifyRequest, emit func(any) error) (any, error) {
		_, key, err := vault.CheckpointSigner(ctx)
		if err != nil {
			return nil, err
		}
		check := checker{request: in, emit: func(l verifyLine) error { return emit(l) }}
		if check.verifier, err = note.NewVerifier(key); err != nil {
			return nil, err
		}
		if in.Payment == "" {
			if check.views, err = compare.Live(ctx, views, check.report); err != nil {
				return nil, err
			}
		}
		archive, err := store.Archive(ctx)
		if err != nil {
			return nil, err
		}
		result, err := check.run(ctx, archive)
		return result, errors.Join(err, archive.Close())
	}
}

// errFirst ends a check at its first fault.
var errFirst = errors.New("a fault was found")

// checker makes one check.
type checker struct {
	request  VerifyRequest
	verifier note.Verifier       // nil: signatures are not checked
	views    *compare.Comparison // nil: views are not compared
	emit     func(verifyLine) error
	keyless  bool // the master key opens no key of the checkpoints, because there is none
	faults   int
	note     string
}

func (c *checker) report(f verify.Fault) error {
	c.faults++
	if err := c.emit(verifyLine{Fault: &f}); err != nil {
		return err
	}
	if c.request.All {
		return nil
	}
	return errFirst
}

func (c *checker) run(ctx context.Context, archive *eventstore.Archive) (v verified, err error) {
	config := verify.Config{
		Archive: archive, Verifier: c.verifier, Only: c.request.Payment, Report: c.report,
		Progress: func(done, of uint64) { _ = c.emit(verifyLine{Done: done, Of: of}) }, // the next fault, or the end, meets the error
	}
	if c.views != nil {
		config.Newest, config.ViewEnd = c.views.Add, c.views.End
	}
	v.Result, err = verify.Run(ctx, config)
	if err == nil && c.views != nil {
		err = c.views.Finish(ctx)
	}
	if err == nil && c.keyless && v.Checkpoints > 0 {
		err = c.report(verify.Fault{Difference: "SECRETS has no key of the checkpoints, but there are checkpoints"})
	}
	if c.request.Payment == "" && !archive.HasTips() {
		c.note = joined(c.note, "there is no tip store, so the streams beside the log were not compared with it: a start makes it again")
	}
	if errors.Is(err, errFirst) {
		err = nil
	}
	if err == nil && c.request.Payment != "" && v.Events == 0 && c.faults == 0 {
		err = fmt.Errorf("there is no payment %s in this log; check the id", c.request.Payment)
	}
	v.Views, v.Faults, v.Note = c.views != nil, c.faults, c.note
	return v, err
}

// Run checks and prints. A fault is an error.
func (c *Verify) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := args.Refused(); err != nil {
		return err
	}
	begun := time.Now()
	progress := newEventBar(std.Err)
	var first *verify.Fault
	emit := func(l verifyLine) error {
		if l.Fault == nil {
			progress.show(l.Done, l.Of)
			return nil
		}
		if first == nil {
			first = l.Fault
		}
		if !c.All {
			return nil
		}
		progress.clear()
		_, err := fmt.Fprintln(std.Out, l.Fault)
		return err
	}
	result, err := c.check(ctx, emit)
	progress.clear()
	switch {
	case err != nil:
		return err
	case first != nil && c.All:
		return fmt.Errorf("%d faults; copy %s before anything else", result.Faults, c.Data)
	case first != nil:
		return fmt.Errorf("%s; copy %s before anything else, and see all faults with --all", first, c.Data)
	}
	return result.print(std.Out, c.Payment, time.Since(begun))
}

// check checks at the service that runs on the folder, or the folder itself.
func (c *Verify) check(ctx context.Context, emit func(verifyLine) error) (result verified, err error) {
	request := VerifyRequest{Payment: domain.PaymentID(c.Payment), All: c.All}
	service, err := control.Find(ctx, c.Data)
	if errors.Is(err, control.ErrNoService) {
		return c.checkFolder(ctx, request, emit)
	}
	if err != nil {
		return result, err
	}
	err = service.Call(ctx, "verify", request, func(text json.RawMessage) error {
		var l verifyLine
		if err := json.Unmarshal(text, &l); err != nil {
			return err
		}
		return emit(l)
	}, &result)
	return result, err
}

// checkFolder checks the folder of a stopped server, or a back-up, and changes nothing there.
func (c *Verify) checkFolder(ctx context.Context, request VerifyRequest, emit func(verifyLine) error) (result verified, err error) {
	events := filepath.Join(c.Data, ledger.EventsFolder)
	archive, err := eventstore.OpenArchive(events)
	switch {
	case errors.Is(err, eventstore.ErrInUse):
		return result, control.Unreachable(c.Data)
	case errors.Is(err, eventstore.ErrNotFound):
		return result, fmt.Errorf("%s holds no ledger: name its folder with --data", c.Data)
	case err != nil:
		return result, err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	check := checker{request: request, emit: emit}
	check.verifier, check.note, err = c.verifier(events)
	if check.keyless = errors.Is(err, eventstore.ErrNotFound); err != nil && !check.keyless {
		return result, err
	}
	if request.Payment == "" {
		rows, why, err := openRows(ctx, filepath.Join(c.Data, ledger.ViewsFolder, projections.FileName), archive.Shards)
		switch {
		case err != nil:
			if err := check.report(verify.Fault{Difference: err.Error() + "; " + compare.Remedy}); err != nil && !request.All {
				result.Faults = check.faults
				return result, nil
			}
		case rows == nil:
			check.note = joined(check.note, why)
		default:
			defer func() { err = errors.Join(err, rows.Close()) }()
			if check.views, err = compare.Stopped(ctx, rows.DB, check.report); err != nil {
				return result, err
			}
		}
	}
	return check.run(ctx, archive)
}

// verifier returns the key that checks signatures, or a note with the reason why none is checked. ErrNotFound: the folder has no such key.
func (c *Verify) verifier(events string) (note.Verifier, string, error) {
	text, err := options.ReadSecret("--master-key", c.MasterKey, c.MasterKeyFile)
	if err != nil {
		return nil, "", options.Usage(err)
	}
	master, err := secrets.MasterKey(text, c.Data)
	if errors.Is(err, os.ErrNotExist) {
		return nil, "the signatures of checkpoints were not checked: that needs the master key (PAYLEDGER_MASTER_KEY or --master-key-file)", nil
	}
	if err != nil {
		return nil, "", err
	}
	key, err := secrets.StoppedVerifier(events, master)
	switch {
	case errors.Is(err, secrets.ErrSealed):
		return nil, "", errors.New("the master key is not the one of this ledger: set PAYLEDGER_MASTER_KEY or --master-key-file to the key that the ledger was made with")
	case err != nil:
		return nil, "", err
	}
	v, err := note.NewVerifier(key)
	return v, "", err
}

// openRows opens the views of a stopped folder. Views that are missing, or of another version, are made again at a start: why
// says that they were not compared.
func openRows(ctx context.Context, path string, shards int) (rows *sqlitefile.Still, why string, err error) {
	rows, err = sqlitefile.OpenStill(ctx, path, projections.Identity(shards), "")
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, "there are no views: a start makes them", nil
	case errors.Is(err, sqlitefile.ErrStale):
		return nil, "the views are of another version: a start makes them again", nil
	}
	return rows, "", err
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// print prints one sentence, and a note.
func (v verified) print(out io.Writer, payment string, took time.Duration) error {
	if payment != "" {
		_, err := fmt.Fprintf(out, "payment %s is whole: %d events, each with the hash and the state that follow from the events before it.\n", payment, v.Events)
		return err
	}
	also := ""
	if v.Tips {
		also += ", the tip store"
	}
	if v.Views {
		also += ", the views"
	}
	text := fmt.Sprintf("the log is whole: %d events of %d aggregates%s and %d checkpoints; size %d, root %s (%s, %.0f events/s).\n",
		v.Events, v.Aggregates, also, v.Checkpoints, v.Size, v.Root, took.Round(time.Millisecond), float64(v.Events)/took.Seconds())
	if v.Note != "" {
		text += "note: " + v.Note + ".\n"
	}
	_, err := io.WriteString(out, text)
	return err
}
