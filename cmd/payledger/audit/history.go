package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/domain"
	"payledger/notifier"
	"payledger/projections/history"
)

// History replays one payment, from a running server or a stopped server's folder (I1).
type History struct {
	Payment string `arg:"" name:"payment-id" help:"Id of the payment."`
	JSON    bool   `name:"json" help:"Print an array of entries instead of text."`
	Diff    bool   `help:"Show the fields that each event changed."`
	Raw     bool   `help:"Show the bytes that each hash covers, in base64."`
	Full    bool   `help:"Show what stands beside each event: request, position, processor calls, routing, workflow, webhooks and notifications."`
	At      string `help:"End at this revision or time (RFC 3339, or as it was shown); without a fraction at the end of its second." placeholder:"REVISION|TIME"`

	Source  `set:"scope=transactions:retrieve, with --full also events:read"`
	Account string `help:"Account of the folder, with --data (default: the first)." placeholder:"ID"`
	FolderKey
}

// Run reads the history and prints each entry as it arrives.
func (c *History) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	var out printer = &textPrinter{out: terminal.Colours(std.Out), width: terminal.Width(std.Out), c: c}
	if c.JSON {
		out = &arrayPrinter{out: std.Out}
	}
	if err := named(c.Payment); err != nil {
		return err
	}
	at, err := history.ParseSecond(c.At)
	if err != nil && !errors.Is(err, history.ErrNotThere) {
		return options.Usage(fmt.Errorf("--at: %w", err))
	}
	if err != nil {
		return err
	}
	folder, err := c.isFolder(args, c.Account)
	if err != nil {
		return err
	}
	if folder {
		err = c.readFolder(ctx, at, out.entry)
	} else {
		err = c.readServer(ctx, at, out.entry)
	}
	if err != nil {
		return err
	}
	return out.end()
}

type printer interface {
	entry(json.RawMessage) error
	end() error // after the last entry
}

// arrayPrinter prints one JSON array. An array without its end is incomplete.
type arrayPrinter struct {
	out   io.Writer
	begun bool
}

func (p *arrayPrinter) entry(text json.RawMessage) error {
	before := ","
	if !p.begun {
		p.begun, before = true, "["
	}
	_, err := fmt.Fprintf(p.out, "%s%s", before, text)
	return err
}

func (p *arrayPrinter) end() error {
	end := "]"
	if !p.begun {
		end = "[]"
	}
	_, err := fmt.Fprintln(p.out, end)
	return err
}

func (c *History) readServer(ctx context.Context, at history.At, emit func(json.RawMessage) error) error {
	target := "/payments/" + url.PathEscape(c.Payment) + "/events"
	query := url.Values{}
	if at := at.String(); at != "" {
		query.Set("at", at)
	}
	if c.Full {
		query["expand"] = history.Expansions
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	return c.read(ctx, target, func(answer io.Reader) error { return parseHistory(answer, emit) })
}

func parseHistory(answer io.Reader, emit func(json.RawMessage) error) error {
	return readList(answer, "events", "the printed history is incomplete, try again", emit)
}

func (c *History) readFolder(ctx context.Context, at history.At, emit func(json.RawMessage) error) error {
	part := history.Part{At: at}
	if c.Full {
		part.Expand = history.Expansions
	}
	return ledger.Read(ctx, c.FolderKey.of(c.Data), func(l *ledger.Ledger) error {
		replay := history.Reader{Store: l.Store, Secrets: l.Secrets, Now: time.Now, Deliveries: notifier.NewDeliveryReader(l.Store)}
		return l.OfAccount(ctx, c.Account, func(account domain.AccountID) error {
			_, err := replay.Payment(ctx, account, domain.PaymentID(c.Payment), part, func(e history.Entry) error {
				text, err := json.Marshal(e)
				if err != nil {
					return fmt.Errorf("history: %w", err)
				}
				return emit(text)
			})
			return err
		})
	})
}
