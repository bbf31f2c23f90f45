package audit

import (
	"context"
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
	"payledger/eventstore/archive"
	"payledger/eventstore/backup"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/folder"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/secrets"
	"payledger/eventstore/streams"
	"payledger/eventstore/verify"
	"payledger/notifier"
	"payledger/projections"
	"payledger/projections/compare"
	"payledger/projections/deliveries"
	"payledger/projections/sqlitefile"
)

// Verify checks the whole log, or one payment, beside a running service, of a cluster, in a stopped
// server's folder or in a back-up (I1).
type Verify struct {
	Payment   string `help:"Check the events of this payment only." placeholder:"ID"`
	All       bool   `help:"Print every fault, instead of ending at the first one."`
	Data      string `help:"Data folder, of a running service, of a stopped one, or a back-up." default:"./data" type:"path"`
	MasterKey string `help:"Key of the stream of secrets, of a cluster or of a stopped folder without its own key: it opens the key of the checkpoints." placeholder:"HEX"`

	MasterKeyFile string `help:"File that holds the master key." type:"path"`

	options.NATS        `embed:""`
	options.PreviousKey `embed:""`
}

// VerifyRequest is the body of the command verify to a running service.
type VerifyRequest struct {
	Payment domain.PaymentID `json:"payment,omitempty"`
	All     bool             `json:"all,omitempty"`
}

type verifyLine struct {
	Fault *verify.Fault `json:"fault,omitempty"`
	Done  uint64        `json:"done,omitempty"`
	Of    uint64        `json:"of,omitempty"`
}

type verified struct {
	verify.Result
	Views  bool   `json:"viewsChecked"`
	Note   string `json:"note,omitempty"` // lists the parts that were not checked
	Faults int    `json:"faults"`
}

const unsigned = "the signatures of checkpoints were not checked: that needs the master key (PAYLEDGER_MASTER_KEY or --master-key-file)"

var errForeignKey = errors.New("the master key is not the one of this ledger: set PAYLEDGER_MASTER_KEY or --master-key-file to the key that the ledger was made with")

const noViews = "this node keeps no views (--role api), so none were checked"

// Verified is the part of a store that VerifyHandler reads.
type Verified interface {
	Archive(ctx context.Context) (*archive.Archive, error)
	Deliveries() *deliverylog.Stream
}

// VerifyHandler serves the command verify of a running service; views is nil at a node that keeps
// none.
func VerifyHandler(store Verified, secretStore *secrets.Store, views *projections.Projections, index *deliveries.Index) func(context.Context, VerifyRequest, func(any) error) (any, error) {
	return func(ctx context.Context, in VerifyRequest, emit func(any) error) (any, error) {
		_, key, err := secretStore.CheckpointSigner(ctx)
		if err != nil {
			return nil, err
		}
		check := checker{request: in, emit: func(l verifyLine) error { return emit(l) }}
		if check.verifier, err = note.NewVerifier(key); err != nil {
			return nil, err
		}
		lists := in.Payment == "" && views != nil
		if in.Payment == "" && views == nil {
			check.note = noViews
		}
		if lists {
			if check.views, err = compare.Live(ctx, views, check.report); err != nil {
				return nil, err
			}
		}
		files, err := store.Archive(ctx)
		if err != nil {
			return nil, err
		}
		if lists {
			end := files.Ends[streams.DeliveryShard].Last
			check.deliveries, err = compare.LiveDeliveries(ctx, index, store.Deliveries(), end, notifier.RowOf, check.report)
		}
		var result verified
		if err == nil {
			result, err = check.run(ctx, files)
		}
		return result, errors.Join(err, files.Close())
	}
}

var errFirst = errors.New("a fault was found")

type checker struct {
	request    VerifyRequest
	verifier   note.Verifier       // nil: signatures are not checked
	views      *compare.Comparison // nil: views are not compared
	deliveries *compare.Deliveries // nil: the index of deliveries is not compared
	open       []*sqlitefile.Still // the files of a stopped service's views
	emit       func(verifyLine) error
	keyless    bool // the secrets have no key for checkpoints
	backup     bool // the files are a back-up's, which has no tip store
	cluster    bool // the nodes have the tip stores and the views
	faults     int
	note       string
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

func (c *checker) run(ctx context.Context, files *archive.Archive) (v verified, err error) {
	config := verify.Config{
		Archive: files, Verifier: c.verifier, Only: c.request.Payment, Report: c.report,
		Progress: func(done, of uint64) { _ = c.emit(verifyLine{Done: done, Of: of}) }, // a later emit returns the same error
	}
	if c.views != nil {
		config.Newest, config.ViewEnd, config.Shown, config.Event = c.views.Add, c.views.End, c.views.Shown, c.views.Event
	}
	if c.deliveries != nil {
		config.Delivery = c.deliveries.Add
	}
	v.Result, err = verify.Run(ctx, config)
	if err == nil {
		err = c.finish(ctx, files, v.Checkpoints)
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

// finish completes the comparisons after the whole log was read.
func (c *checker) finish(ctx context.Context, files *archive.Archive, checkpoints uint64) error {
	if c.views != nil {
		if err := c.views.Finish(ctx); err != nil {
			return err
		}
	}
	if c.deliveries != nil {
		note, err := c.deliveries.Finish(ctx)
		if err != nil {
			return err
		}
		c.note = joined(c.note, note)
	}
	if c.request.Payment != "" {
		return nil
	}
	if c.keyless && checkpoints > 0 {
		if err := c.report(verify.Fault{Stream: "SECRETS", Difference: "it has no key of the checkpoints, but there are checkpoints"}); err != nil {
			return err
		}
	}
	for _, note := range files.Notes() {
		c.note = joined(c.note, note)
	}
	switch {
	case files.HasTips():
	case files.Served():
		if c.cluster {
			c.note = joined(c.note, "the tip stores and the views are at the nodes: payledger verify --data DIR checks those of a running node, too")
		}
	case c.backup:
		c.note = joined(c.note, "missing newest records of DELIVERIES cannot be noticed without a tip store, and a back-up has none")
	default:
		c.note = joined(c.note, "there is no tip store, so missing newest records of SECRETS and DELIVERIES cannot be noticed: a start makes the tip store again")
	}
	return nil
}

// Run checks and prints. A fault is an error.
func (c *Verify) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := args.Refused(); err != nil {
		return err
	}
	if err := c.misused(args); err != nil {
		return err
	}
	copied := c.Data
	if c.asksCluster(args) {
		copied = "the folder of each NATS server"
	}
	begun := time.Now()
	progress := terminal.NewBar(std.Err)
	var first *verify.Fault
	emit := func(l verifyLine) error {
		if l.Fault == nil {
			progress.Events(l.Done, l.Of)
			return nil
		}
		if first == nil {
			first = l.Fault
		}
		if !c.All {
			return nil
		}
		progress.Clear()
		_, err := fmt.Fprintln(std.Out, terminal.Harmless(l.Fault.String()))
		return err
	}
	result, err := c.check(ctx, args, emit)
	progress.Clear()
	switch {
	case err != nil:
		return err
	case first != nil && c.All:
		return fmt.Errorf("%s; copy %s before anything else", terminal.Count(result.Faults, "fault"), copied)
	case first != nil:
		return fmt.Errorf("%s; copy %s before anything else, and see all faults with --all", first, copied)
	}
	_, err = io.WriteString(std.Out, result.text(c.Payment, time.Since(begun)))
	return err
}

func (c *Verify) misused(args options.Arguments) error {
	faults := c.NATS.Faults()
	if args.Has("--nats-url") && args.Has("--data") {
		faults = append(faults, "--data names a folder, and --nats-url names a cluster: leave one out")
	}
	return options.UsageOf(faults)
}

// asksCluster reports whether the command may read a cluster. A flag overrides a variable.
func (c *Verify) asksCluster(args options.Arguments) bool {
	return c.NatsURL != "" && (args.Has("--nats-url") || !args.Has("--data"))
}

// check lets a running service check itself. A node of a cluster checks its views, too, so it is
// preferred to the NATS servers alone, unless they are named by a flag.
func (c *Verify) check(ctx context.Context, args options.Arguments, emit func(verifyLine) error) (result verified, err error) {
	request := VerifyRequest{Payment: domain.PaymentID(c.Payment), All: c.All}
	if args.Has("--nats-url") {
		return c.checkCluster(ctx, request, emit)
	}
	service, err := control.Find(ctx, c.Data)
	if errors.Is(err, control.ErrNoService) {
		if c.asksCluster(args) {
			return c.checkCluster(ctx, request, emit)
		}
		return c.checkFolder(ctx, request, emit)
	}
	if err != nil {
		return result, err
	}
	err = service.Call(ctx, "verify", request, eachLine(emit), &result)
	return result, err
}

// checkFolder checks the folder of a stopped server, or a back-up. It does not change the folder.
func (c *Verify) checkFolder(ctx context.Context, request VerifyRequest, emit func(verifyLine) error) (result verified, err error) {
	if err := noFile(c.Data); err != nil {
		return result, err
	}
	chain, err := backup.ReadChain(c.Data)
	if err != nil {
		return result, err
	}
	if chain.Newest() != nil {
		check := checker{request: request, emit: emit, backup: true, note: "this is a back-up: the keys are in the folder of --keys-out, so SECRETS and the signatures of the checkpoints were not checked; restore checks both"}
		return check.run(ctx, chain.Archive())
	}
	events := filepath.Join(c.Data, ledger.EventsFolder)
	files, err := archive.Open(events)
	switch {
	case errors.Is(err, folder.ErrInUse):
		return result, control.Unreachable(c.Data)
	case errors.Is(err, eventstore.ErrNotFound):
		return result, fmt.Errorf("%s holds no ledger and no back-up: name the data folder, or the folder of backup's --out, with --data", c.Data)
	case err != nil:
		return result, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	check := checker{request: request, emit: emit}
	check.verifier, check.note, err = c.verifier(events)
	if check.keyless = errors.Is(err, eventstore.ErrNotFound); err != nil && !check.keyless {
		return result, err
	}
	if request.Payment == "" {
		defer func() {
			for _, file := range check.open {
				err = errors.Join(err, file.Close())
			}
		}()
		err := check.openViews(ctx, filepath.Join(c.Data, ledger.ViewsFolder), files.Shards)
		if errors.Is(err, errFirst) {
			result.Faults = check.faults
			return result, nil
		}
		if err != nil {
			return result, err
		}
	}
	return check.run(ctx, files)
}

// verifier returns the key that checks signatures, or a note why they are not checked. ErrNotFound:
// the folder has no such key.
func (c *Verify) verifier(events string) (note.Verifier, string, error) {
	text, err := options.ReadSecret("--master-key", c.MasterKey, c.MasterKeyFile)
	if err != nil {
		return nil, "", options.Usage(err)
	}
	master, err := secrets.MasterKey(text, c.Data)
	if errors.Is(err, os.ErrNotExist) {
		return nil, unsigned, nil
	}
	if err != nil {
		return nil, "", err
	}
	key, err := secrets.Verifier(secretlog.Stopped(events), append([]secrets.Key{master}, secrets.OtherKeys(c.Data, master, text == "")...)...)
	switch {
	case errors.Is(err, secrets.ErrSealed):
		return nil, "", errForeignKey
	case err != nil:
		return nil, "", err
	}
	v, err := note.NewVerifier(key)
	return v, "", err
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

func (v verified) text(payment string, took time.Duration) string {
	if payment != "" {
		return fmt.Sprintf("payment %s is whole: %s, each with the hash and the state that follow from the events before it.\n", payment, terminal.Count(v.Events, "event"))
	}
	also := ""
	if v.Tips {
		also += ", the tip store"
	}
	if v.Views {
		also += ", the views"
	}
	text := fmt.Sprintf("the log is whole: %s of %s%s and %s; size %d, root %s (%s, %.0f events/s).\n",
		terminal.Count(v.Events, "event"), terminal.Count(v.Aggregates, "aggregate"), also, terminal.Count(v.Checkpoints, "checkpoint"), v.Size, v.Root, took.Round(time.Millisecond), float64(v.Events)/took.Seconds())
	if v.Note != "" {
		text += "note: " + terminal.Harmless(v.Note) + ".\n"
	}
	return text
}
