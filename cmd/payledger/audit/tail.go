package audit

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/domain"
	"payledger/domain/exactjson"
	"payledger/projections/eventjson"
)

// Tail prints the events of the log in the order of positions: of a running server as they come, or
// of a stopped one's folder (I1).
type Tail struct {
	After   uint64   `help:"Begin behind this position; 0 is the first event." default:"0" placeholder:"POSITION"`
	Type    []string `help:"Only events of these types, for example payment.captured." placeholder:"TYPE"`
	Payment string   `help:"Only the events of this payment." placeholder:"ID"`
	Pretty  bool     `help:"Print a line for people instead of JSON."`

	Source  `set:"scope=events:read"`
	Account string `help:"Account of the folder, with --data (default: all of them; with --payment the first)." placeholder:"ID"`
	FolderKey
}

// Run prints events until the end of the folder, or until the process is stopped.
func (c *Tail) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	for _, name := range c.Type {
		if _, known := slices.BinarySearch(eventjson.Types(), name); !known {
			return options.Usage(fmt.Errorf("--type: there is no event type %q; domain/EVENTS.md lists them", name))
		}
	}
	folder, err := c.isFolder(args, c.Account)
	if err != nil {
		return err
	}
	out := std.Out
	if c.Pretty {
		out = terminal.Colours(out)
	}
	emit := func(text []byte) error { return printEvent(out, text, c.Pretty) }
	if folder {
		return c.readFolder(ctx, std.Err, emit)
	}
	err = c.follow(ctx, std.Err, emit)
	if ctx.Err() != nil { // the usual end
		return nil
	}
	return err
}

func printEvent(out io.Writer, text []byte, pretty bool) error {
	if pretty {
		var e eventLine
		if err := exactjson.Unmarshal(text, &e); err != nil {
			return fmt.Errorf("tail: the server's answer is not an event: %w", err)
		}
		text = []byte(terminal.Harmless(e.String()))
	}
	if _, err := fmt.Fprintf(out, "%s\n", text); err != nil {
		return fmt.Errorf("stdout: %w", err)
	}
	return nil
}

type eventLine struct {
	Position    uint64 `json:"position"`
	Time        string `json:"time"`
	Type        string `json:"type"`
	Aggregate   string `json:"aggregate"`
	AggregateID string `json:"aggregateId"`
	Revision    uint64 `json:"revision"`
	Actor       string `json:"actor"`
	Payment     *struct {
		Status    string          `json:"status"`
		Amount    domain.Amount   `json:"amount"`
		Currency  domain.Currency `json:"currencyCode"`
		Processor *struct {
			Name string `json:"name"`
		} `json:"processor"`
	} `json:"payment"`
}

func (e eventLine) String() string {
	text := fmt.Sprintf("%8d  %s  %-32s %s %s", e.Position, strings.Replace(e.Time, "T", " ", 1), e.Type, e.Aggregate, e.AggregateID)
	if p := e.Payment; p != nil {
		text += fmt.Sprintf("  %s, %s", p.Status, p.Amount.Format(p.Currency))
		if p.Processor != nil {
			text += " at " + p.Processor.Name
		}
	}
	return text + "  by " + e.Actor
}

func (c *Tail) readFolder(ctx context.Context, notes io.Writer, emit func([]byte) error) error {
	return ledger.Read(ctx, c.FolderKey.of(c.Data), func(l *ledger.Ledger) error {
		feed := eventjson.NewFeed(l.Store)
		read := func(account domain.AccountID) error {
			filter := eventjson.Filter{Account: account, Types: c.Type, Payment: domain.PaymentID(c.Payment)}
			_, err := feed.Page(ctx, filter, c.After, 0, func(e eventjson.Event) error {
				text, err := e.Append(nil, true)
				if err != nil {
					return fmt.Errorf("tail: %w", err)
				}
				return emit(text)
			})
			if err != nil {
				return fmt.Errorf("tail: %w", err)
			}
			return nil
		}
		run := func() error { return l.OfAccount(ctx, c.Account, read) }
		if c.Account+c.Payment == "" {
			run = func() error { return read("") }
		}
		if err := run(); err != nil {
			return err
		}
		size, err := feed.Log.Size(ctx)
		if later := l.Store.Events() - size; err == nil && later > 0 {
			fmt.Fprintf(notes, "payledger: the %s no position yet: the server was killed. Start it once.\n", terminal.Count(later, "newest event has", "newest events have"))
		}
		return err
	})
}
