package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"payledger/cmd/payledger/audit"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/eventstore/commands/reconcile"
	"payledger/processorsim/adapter"
)

func (c *Crashes) folder() audit.Source { return audit.Source{Data: c.data()} }

func (c *Crashes) server() audit.Source { return audit.Source{URL: c.api, APIKey: c.apiKey} }

func output(ctx context.Context, of audit.Source, command interface {
	Run(context.Context, terminal.Streams, options.Arguments) error
}) (string, error) {
	args := options.Arguments{"--url"}
	if of.Data != "" {
		args = options.Arguments{"--data"}
	}
	var text strings.Builder
	err := command.Run(ctx, terminal.Streams{Out: &text, Err: io.Discard}, args)
	return text.String(), err
}

func (c *Crashes) readDisk(ctx context.Context, found *finding) error {
	if err := c.showHistory(ctx, c.folder(), "--data "+c.data()); err != nil {
		return err
	}
	text, err := output(ctx, c.folder(), &audit.History{Payment: c.paid.ID, JSON: true, Full: true, Source: c.folder()})
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), &found.disk); err != nil {
		return err
	}
	difference := found.onDisk()
	if difference == nil {
		c.out.line("   the request is on the disk, its outcome is open, and the payment is still %s", found.before)
	}
	c.expect(difference)
	return c.showOpen(ctx, found)
}

// showOpen compares the folder of the killed service with the processor's books, which may be
// ahead.
func (c *Crashes) showOpen(ctx context.Context, found *finding) error {
	compared, err := c.compare(ctx, c.folder())
	if err != nil {
		return err
	}
	c.program(fmt.Sprintf("reconcile --processor %s --data %s", strings.Join(c.addressed(), " --processor "), c.data()))
	for _, d := range compared.Differences {
		c.out.note(fmt.Sprintf("the %s is %s in the ledger and %s in the books of %s (%s)", noun(d.Operation), stateOf(d.Here), stateOf(d.There), c.facts.name, d.Kind))
	}
	found.open = compared.Compared.Open
	c.out.note(fmt.Sprintf("%s, %s without an answer yet: the ledger does not know the outcome, and says so",
		terminal.Count(len(compared.Differences), "difference"), terminal.Count(found.open, "operation")))
	c.expect(found.isOpen())
	return nil
}

func stateOf(s *reconcile.Side) string {
	if s == nil {
		return "missing"
	}
	return s.State
}

// books reads the remaining facts of the verdict: the webhooks, the log, the processor's books, and
// their differences.
func (c *Crashes) books(ctx context.Context) error {
	for _, read := range []func(context.Context) error{c.revive, c.recorded, c.receive, c.readBooks, c.readDifferences, c.readLog} {
		if err := read(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *Crashes) readBooks(ctx context.Context) (err error) {
	if err := c.showHistory(ctx, c.server(), ""); err != nil {
		return err
	}
	if c.facts.books, err = c.there.Books(ctx, adapter.Filter{}); err != nil {
		return err
	}
	c.out.line("   %s's books", c.facts.name)
	for _, line := range c.facts.books {
		c.out.line("     %-9s  %10s  %-9s  key %s", line.Operation, euros(int64(line.Amount)), line.State, line.IdempotencyKey)
	}
	return nil
}

func (c *Crashes) readDifferences(ctx context.Context) error {
	text, err := output(ctx, c.server(), &audit.Reconcile{Processor: []string{string(c.facts.name)}, Source: c.server()})
	c.program("reconcile --processor " + string(c.facts.name))
	c.out.output(text)
	if _, trouble := errors.AsType[audit.TroubleError](err); trouble {
		return err
	}
	c.expect(err) // any other error counts the differences
	c.facts.compared, err = c.compare(ctx, c.server())
	return err
}

func (c *Crashes) readLog(ctx context.Context) error {
	var log page[audited]
	if err := c.ask(ctx, request(http.MethodGet, "/payments/"+c.paid.ID+"/events?expand=processor", nil), &log); err != nil {
		return err
	}
	var list page[any]
	if err := c.call(ctx, request(http.MethodGet, "/payments", nil), &list, func() string {
		return terminal.Count(len(list.Data), "payment") + " in the account"
	}); err != nil {
		return err
	}
	c.facts.log, c.facts.payments = log.Data, len(list.Data)
	c.result.Paid, c.result.Payments = c.paid.ID, len(list.Data)
	return nil
}

func (c *Crashes) showHistory(ctx context.Context, of audit.Source, flags string) error {
	text, err := output(ctx, of, &audit.History{Payment: c.paid.ID, Source: of})
	c.program(strings.TrimSpace("history " + c.paid.ID + " " + flags))
	c.out.output(text)
	return err
}

// comparison is the output of reconcile --json.
type comparison struct {
	Differences []reconcile.Difference `json:"differences"`
	Compared    reconcile.Counts       `json:"compared"`
}

// addressed selects the processor and gives its address, which precedes those in the environment.
func (c *Crashes) addressed() []string {
	name := string(c.facts.name)
	return []string{name, name + "=" + c.there.recorded}
}

func (c *Crashes) compare(ctx context.Context, of audit.Source) (found comparison, err error) {
	text, err := output(ctx, of, &audit.Reconcile{Processor: c.addressed(), JSON: true, Source: of})
	if _, trouble := errors.AsType[audit.TroubleError](err); trouble {
		return found, err // any other error counts the differences
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return found, fmt.Errorf("reconcile --json: %w", err)
	}
	return found, nil
}
