package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/domain/exactjson"
	"payledger/eventstore"
	"payledger/eventstore/ordered"
	"payledger/httpapi/client"
	"payledger/notifier"
	"payledger/projections/deliveries"
	"payledger/projections/eventjson"
	"payledger/projections/export"
)

// Export writes the log and its tables for analysts (I1).
type Export struct {
	Format string  `help:"Format of the files." enum:"jsonl,csv,parquet,sqlite" required:"" placeholder:"jsonl|csv|parquet|sqlite"`
	Out    string  `help:"Folder of the files, or the file of the format sqlite. Without it, jsonl and csv print the events." type:"path"`
	From   string  `help:"Only events from this day or time on (RFC 3339), and the payments and disputes that they changed." placeholder:"TIME"`
	To     string  `help:"Only events up to this day or time (RFC 3339), included, and payments and disputes as they were then." placeholder:"TIME"`
	After  *uint64 `help:"Only events behind this position; appends to the files of an earlier export." placeholder:"POSITION"`

	Once bool `help:"Leave no file beside the tables: nothing will be appended to them."`

	CSVFormulas string `name:"csv-formulas" help:"Texts in CSV files that a spreadsheet could run as formulas: escape writes an apostrophe before them, keep writes them as they are." enum:"escape,keep" default:"escape" placeholder:"escape|keep"`

	Source `set:"scope=events:read"`
	FolderKey
}

// Run exports the events that there are now.
func (c *Export) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	window, err := c.window()
	if err != nil {
		return options.Usage(err)
	}
	folder, err := c.isFolder(args, "")
	if err != nil {
		return err
	}
	run := export.Run
	if folder {
		run = c.exportFolder
	}
	shown := terminal.NewBar(std.Err)
	s, err := run(ctx, export.Config{
		Source: serverFeed{c.Source}, Deliveries: serverFeed{c.Source}.Deliveries, Progress: shown.Events,
		Format: export.Format(c.Format), Out: c.Out, Stdout: std.Out, After: c.After, Window: window, EscapeFormulas: c.CSVFormulas == "escape", Once: c.Once,
	})
	shown.Clear()
	if err != nil {
		return err
	}
	if c.Out == "" {
		return nil
	}
	return c.report(std.Out, s)
}

func (c *Export) report(out io.Writer, s export.Summary) (err error) {
	limited := c.From != "" || c.To != ""
	switch {
	case s.Last == 0 && s.Deliveries > 0:
		_, err = fmt.Fprintf(out, "No event, but %s, in %s\n", terminal.Count(s.Deliveries, "webhook delivery"), c.Out)
		return err
	case s.Last == 0 && limited:
		_, err = fmt.Fprintf(out, "No event is of this time: the tables in %s have no rows.\n", c.Out)
		return err
	case s.Last == 0:
		_, err = fmt.Fprintf(out, "Nothing new: %s has every event.\n", c.Out)
		return err
	}
	_, err = fmt.Fprintf(out, "%s up to position %d, in %s: %s\n", terminal.Count(s.Events, "event"), s.Last, c.Out, strings.Join(s.Files, ", "))
	if err == nil && !limited && !c.Once {
		note := ""
		if c.Format != string(export.SQLite) {
			note = "The folder keeps .payledger-export.sqlite, which a later export into it needs; with --once it would not.\n"
		}
		_, err = fmt.Fprintf(out, "%sAppend later events with --after %d.\n", note, s.Last)
	}
	return err
}

func (c *Export) window() (w export.Window, err error) {
	if c.Out == "" && (c.Format == string(export.Parquet) || c.Format == string(export.SQLite)) {
		return w, fmt.Errorf("--format %s needs --out", c.Format)
	}
	if c.After != nil && c.From+c.To != "" {
		return w, errors.New("--after selects positions and --from and --to times: leave one of them out")
	}
	if w.From, err = options.Time("from", c.From, 0); err != nil {
		return w, err
	}
	if w.To, err = options.Time("to", c.To, 24*time.Hour-1); err != nil {
		return w, err
	}
	if !w.From.IsZero() && !w.To.IsZero() && w.From.After(w.To) {
		return w, errors.New("--from is later than --to")
	}
	return w, nil
}

func (c *Export) exportFolder(ctx context.Context, config export.Config) (s export.Summary, err error) {
	err = ledger.Read(ctx, c.FolderKey.of(c.Data), func(l *ledger.Ledger) error {
		config.Source = folderFeed{eventjson.NewFeed(l.Store)}
		config.Deliveries = func(ctx context.Context, after uint64, handle func(deliveries.Recorded) error) error {
			_, err := notifier.NewDeliveryReader(l.Store).Records(ctx, "", after, 0, handle)
			if errors.Is(err, notifier.ErrNoPlace) {
				return errRestored
			}
			return err
		}
		s, err = export.Run(ctx, config)
		return err
	})
	return s, err
}

type folderFeed struct{ *eventjson.Feed }

func (f folderFeed) Events(ctx context.Context, after uint64, handle func(e export.Event, newest uint64) error) error {
	newest, err := f.Log.Size(ctx)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	_, err = f.Log.Read(ctx, after, func(recorded ordered.Event) error {
		e, err := f.event(ctx, recorded)
		if err != nil {
			return err
		}
		return handle(e, newest)
	})
	if errors.Is(err, ordered.ErrBeyond) {
		return beyond{err}
	}
	return err
}

// beyond is the error of a source that has no event at a position.
type beyond struct{ error }

func (b beyond) Unwrap() []error { return []error{b.error, export.ErrBeyond} }

// event returns an event as GET /events gives it, without its JSON being read back.
func (f folderFeed) event(ctx context.Context, recorded ordered.Event) (export.Event, error) {
	e, err := eventjson.RenderBrief(ctx, f.Store, recorded)
	if err != nil {
		return export.Event{}, err
	}
	out := export.Event{
		Position: e.Position, ID: e.ID, Type: e.Type, Time: e.Time, Account: e.AccountID, Aggregate: e.Aggregate, AggregateID: e.AggregateID,
		Revision: e.Revision, Actor: e.Actor, Hash: e.Hash, Payment: e.Payment, AmountHeld: e.Held,
	}
	if out.Fact, err = e.AppendFact(nil, true); err != nil || e.Aggregate != eventstore.Disputes.Name {
		return out, err
	}
	state, err := e.AppendState(nil, true)
	if err == nil {
		err = exactjson.Unmarshal(state, &out.Dispute)
	}
	if err != nil {
		return out, fmt.Errorf("export: %w", err)
	}
	return out, nil
}

type serverFeed struct{ Source }

// exportPage is the largest page of GET /events (I2) and of GET /webhook-deliveries.
const exportPage = "1000"

func (f serverFeed) Events(ctx context.Context, after uint64, handle func(e export.Event, newest uint64) error) error {
	err := eachPage(ctx, f.Source, "/events", after, func(e export.Event, newest uint64) error {
		if newest > 0 {
			newest = max(newest, e.Position) // the event was recorded while the answer was written
		}
		return handle(e, newest)
	})
	if refused, is := errors.AsType[*client.Error](err); is && refused.Status == http.StatusNotFound && after > 0 {
		return beyond{err}
	}
	return err
}

var errRestored = errors.New("the ledger has fewer records of webhook deliveries than the export: was an older back-up restored? Choose another --out")

func (f serverFeed) Deliveries(ctx context.Context, after uint64, handle func(deliveries.Recorded) error) error {
	err := eachPage(ctx, f.Source, "/webhook-deliveries", after, func(d deliveries.Recorded, _ uint64) error { return handle(d) })
	if refused, is := errors.AsType[*client.Error](err); is && refused.Status == http.StatusNotFound && after > 0 {
		return errRestored
	}
	return err
}

// headerNewest is the header of GET /events with the newest position of the log. Older servers do
// not send it.
const headerNewest = "Payledger-Newest"

// eachPage calls handle with the elements of all pages behind a position or place, each with the
// newest position of the log when its page was requested; 0: unknown.
func eachPage[T any](ctx context.Context, from Source, path string, after uint64, handle func(e T, newest uint64) error) error {
	for {
		var page struct {
			Data []T    `json:"data"`
			Next uint64 `json:"nextAfter"`
		}
		query := url.Values{"after": {strconv.FormatUint(after, 10)}, "limit": {exportPage}}
		answer, err := from.get(ctx, path+"?"+query.Encode(), nil)
		if err != nil {
			return err
		}
		err = whole(answer.Body, &page)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			return fmt.Errorf("export: the server's answer broke off or is no JSON: %w; try again", err)
		}
		newest, _ := strconv.ParseUint(answer.Header.Get(headerNewest), 10, 64)
		for _, e := range page.Data {
			if err := handle(e, newest); err != nil {
				return err
			}
		}
		if after = page.Next; after == 0 {
			return nil
		}
	}
}
