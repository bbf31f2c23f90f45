package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
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
		Source: serverFeed{c.Source}, Progress: shown.Events,
		Format: export.Format(c.Format), Out: c.Out, Stdout: std.Out, After: c.After, Window: window, EscapeFormulas: c.CSVFormulas == "escape", Once: c.Once,
	})
	shown.Clear()
	if err != nil {
		return err
	}
	if c.Out == "" {
		return nil
	}
	limited := c.From != "" || c.To != ""
	if s.Last == 0 && limited {
		_, err = fmt.Fprintf(std.Out, "No event is of this time: the tables in %s have no rows.\n", c.Out)
		return err
	}
	if s.Last == 0 {
		_, err = fmt.Fprintf(std.Out, "Nothing new: %s has every event.\n", c.Out)
		return err
	}
	_, err = fmt.Fprintf(std.Out, "%s up to position %d, in %s: %s\n", terminal.Count(s.Events, "event"), s.Last, c.Out, strings.Join(s.Files, ", "))
	if err == nil && !limited && !c.Once {
		note := ""
		if c.Format != string(export.SQLite) {
			note = "The folder keeps .payledger-export.sqlite for a later export into it; --once leaves it away.\n"
		}
		_, err = fmt.Fprintf(std.Out, "%sAppend later events with --after %d.\n", note, s.Last)
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
	return err
}

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

// exportPage is the largest page of GET /events (I2).
const exportPage = "1000"

func (f serverFeed) Events(ctx context.Context, after uint64, handle func(e export.Event, newest uint64) error) error {
	for {
		var page struct {
			Data []export.Event `json:"data"`
			Next uint64         `json:"nextAfter"`
		}
		query := url.Values{"after": {strconv.FormatUint(after, 10)}, "limit": {exportPage}}
		err := f.read(ctx, "/events?"+query.Encode(), func(body io.Reader) error {
			if err := whole(body, &page); err != nil {
				return fmt.Errorf("export: the server's answer broke off or is no JSON: %w; try again", err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, e := range page.Data {
			if err := handle(e, 0); err != nil {
				return err
			}
		}
		if after = page.Next; after == 0 {
			return nil
		}
	}
}
