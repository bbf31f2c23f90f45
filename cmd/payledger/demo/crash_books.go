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
	"payledger/eventstore/reconcile"
	"payledger/processorsim/adapter"
)

// folder and server are the sources of the commands of an auditor, with the arguments that select them.
func (c *Crashes) folder() (audit.Source, options.Arguments) {
	return audit.Source{Data: c.data()}, options.Arguments{"--data"}
}

func (c *Crashes) server() (audit.Source, options.Arguments) {
	return audit.Source{URL: c.api, APIKey: c.apiKey}, options.Arguments{"--url"}
}

// readDisk reads the folder of the killed service as an auditor does, and keeps the payment's log for the verdict.
func (c *Crashes) readDisk(ctx context.Context, op *interruption) error {
	source, args := c.folder()
	if err := c.showHistory(ctx, source, args, "--data "+c.data()); err != nil {
		return err
	}
	var text strings.Builder
	command := audit.History{Payment: c.paid.ID, JSON: true, Full: true, Source: source}
	if err := command.Run(ctx, terminal.Streams{Out: &text, Err: io.Discard}, args); err != nil {
		return err
	}
	var disk []audited
	if err := json.Unmarshal([]byte(text.String()), &disk); err != nil {
		return err
	}
	c.facts.disks = append(c.facts.disks, disk)
	last := disk[len(disk)-1]
	if len(disk) != c.shown[c.paid.ID] || last.Type != op.requested || string(last.Payment.Status) != op.before ||
		len(last.Waiting) != 1 || last.Waiting[0].Key != op.key {
		return fmt.Errorf("the log on the disk has %v, the payment is %s and waits for %+v; expected %d events up to %s, %s, and %s to be open",
			disk, last.Payment.Status, last.Waiting, c.shown[c.paid.ID], op.requested, op.before, op.key)
	}
	c.out.line("   the request is on the disk, its outcome is open, and the payment is still %s", op.before)
	return c.showOpen(ctx, op)
}

// showOpen compares the folder of the killed service with the processor's books, which may be ahead.
func (c *Crashes) showOpen(ctx context.Context, op *interruption) error {
	source, args := c.folder()
	found, err := c.compare(ctx, source, args)
	if err != nil {
		return err
	}
	c.out.command(fmt.Sprintf("payledger reconcile --processor %s --data %s --processor-url %s", c.facts.name, c.data(), c.there.url))
	for _, d := range found.Differences {
		c.out.note(fmt.Sprintf("%s: the %s is %s in the ledger and %s in the books", d.Kind, noun(d.Operation), stateOf(d.Here), stateOf(d.There)))
	}
	c.out.note(fmt.Sprintf("%s, %s without an answer yet", count(len(found.Differences), "difference"), count(found.Compared.Open, "operation")))
	if found.Compared.Open != 1 {
		return fmt.Errorf("%d operations have no answer yet, expected the %s", found.Compared.Open, op.kind)
	}
	return nil
}

func stateOf(s *reconcile.Side) string {
	if s == nil {
		return "missing"
	}
	return s.State
}

// books reads the remaining facts of the verdict: the log, the processor's books, and their differences.
func (c *Crashes) books(ctx context.Context) error {
	if err := c.nothingMore(ctx); err != nil {
		return err
	}
	source, args := c.server()
	if err := c.showHistory(ctx, source, args, ""); err != nil {
		return err
	}
	var err error
	if c.facts.books, err = c.there.Books(ctx, adapter.Filter{}); err != nil {
		return err
	}
	c.out.line("   %s's books", c.facts.name)
	for _, line := range c.facts.books {
		c.out.line("     %-9s  %10s  %-9s  key %s", line.Operation, euros(int64(line.Amount)), line.State, line.IdempotencyKey)
	}
	var text strings.Builder
	command := audit.Reconcile{Processor: c.facts.name, Source: source}
	err = command.Run(ctx, terminal.Streams{Out: &text, Err: io.Discard}, args)
	c.out.command("payledger reconcile --processor " + string(c.facts.name))
	c.out.output(text.String())
	if err != nil {
		return err
	}
	if c.facts.compared, err = c.compare(ctx, source, args); err != nil {
		return err
	}
	return c.readLog(ctx)
}

// readLog reads the payment's log and the payments of its order.
func (c *Crashes) readLog(ctx context.Context) error {
	var log struct {
		Data []audited `json:"data"`
	}
	quiet := c.quiet()
	err := quiet.call(ctx, request(http.MethodGet, "/payments/"+c.paid.ID+"/events?expand=processor", nil), &log, func() string { return "" })
	if err != nil {
		return err
	}
	var list struct {
		Data []struct {
			OrderID string `json:"orderId"`
		} `json:"data"`
	}
	if err := c.call(ctx, request(http.MethodGet, "/payments", nil), &list, func() string {
		return count(len(list.Data), "payment") + " in the account"
	}); err != nil {
		return err
	}
	c.facts.payment, c.facts.log, c.facts.payments, c.facts.webhooks = c.paid.ID, log.Data, len(list.Data), c.result.Webhooks
	c.result.Paid, c.result.Payments = c.paid.ID, len(list.Data)
	return nil
}

// showHistory prints the output of history.
func (c *Crashes) showHistory(ctx context.Context, source audit.Source, args options.Arguments, flags string) error {
	var text strings.Builder
	command := audit.History{Payment: c.paid.ID, Source: source}
	err := command.Run(ctx, terminal.Streams{Out: &text, Err: io.Discard}, args)
	c.out.command(strings.TrimSpace("payledger history " + c.paid.ID + " " + flags))
	c.out.output(text.String())
	return err
}

// comparison is the output of reconcile --json.
type comparison struct {
	Differences []reconcile.Difference `json:"differences"`
	Compared    reconcile.Counts       `json:"compared"`
}

// compare compares the ledger with the processor's books.
func (c *Crashes) compare(ctx context.Context, source audit.Source, args options.Arguments) (found comparison, err error) {
	var text strings.Builder
	command := audit.Reconcile{Processor: c.facts.name, JSON: true, Source: source, ProcessorURL: c.there.url}
	var trouble audit.TroubleError
	if err := command.Run(ctx, terminal.Streams{Out: &text, Err: io.Discard}, args); errors.As(err, &trouble) {
		return found, err // any other error counts the differences
	}
	if err := json.Unmarshal([]byte(text.String()), &found); err != nil {
		return found, fmt.Errorf("reconcile --json: %w", err)
	}
	return found, nil
}
