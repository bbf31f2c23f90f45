package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

// crashAmount and crashRefund are the amounts of the story's payment, in minor units of EUR.
const (
	crashAmount = 2500
	crashRefund = 1000
)

// authorization pays with the card that never gets an answer (D13).
func (c *Crashes) authorization(ctx context.Context) error {
	token, err := c.enterCard(ctx, order{"order-2001", "Typewriter", crashAmount, "4000000000006470"})
	if err != nil {
		return err
	}
	return c.interrupt(ctx, &interruption{
		expectation: expectation{
			operation: operation{kind: processor.Authorize, amount: crashAmount},
			requested: "payment.created", outcome: "payment.authorized", before: "PENDING", status: "AUTHORIZED",
			hook: hook{"PAYMENT.STATUS", "AUTHORIZED"}, known: processor.Known,
		},
		path: "/payments", merchantKey: "key-2001", body: map[string]any{"paymentMethodToken": token},
		reached: c.performed,
	})
}

func (c *Crashes) capture(ctx context.Context) error {
	once := 1
	fault := protocol.Fault{Operation: processor.Capture, Mode: protocol.Latency, Count: &once, DelayMs: 3_600_000}
	if err := c.there.SetFault(ctx, fault); err != nil {
		return err
	}
	return c.interrupt(ctx, &interruption{
		expectation: expectation{
			operation: operation{kind: processor.Capture, amount: crashAmount},
			requested: "payment.capture_requested", outcome: "payment.captured", before: "AUTHORIZED", status: "SETTLED",
			hook: hook{"PAYMENT.STATUS", "SETTLED"}, known: processor.Known,
		},
		path: "/payments/" + c.paid.ID + "/capture", merchantKey: "parcel-2001", body: map[string]any{"amount": crashAmount},
		reached: c.working, down: c.finished,
	})
}

func (c *Crashes) refund(ctx context.Context) error {
	if err := c.there.SetFault(ctx, protocol.Fault{Operation: processor.Refund, Mode: protocol.DropBefore}); err != nil {
		return err
	}
	return c.interrupt(ctx, &interruption{
		expectation: expectation{
			operation: operation{kind: processor.Refund, amount: crashRefund},
			requested: "payment.refund_requested", outcome: "payment.refunded", before: "SETTLED", status: "SETTLED",
			hook: hook{"PAYMENT.REFUND", "SETTLED"}, known: processor.Unseen,
		},
		path: "/payments/" + c.paid.ID + "/refund", merchantKey: "return-2001", body: map[string]any{"amount": crashRefund},
		reached: c.cutOff, down: c.mended,
	})
}

// performed waits until the books have the operation. Without a payment it finds the payment there.
func (c *Crashes) performed(ctx context.Context, op *interruption) (string, bool, error) {
	lines, err := c.there.Books(ctx, adapter.Filter{})
	i := slices.IndexFunc(lines, func(l protocol.Line) bool { return l.Operation == op.kind })
	if err != nil || i < 0 {
		return "", false, err
	}
	line := lines[i]
	if c.paid.ID == "" {
		c.paid.ID = string(line.Reference)
		c.facts.payment = c.paid.ID
	}
	c.facts.name = line.Processor
	return fmt.Sprintf("the processor %s has done it: %s of %s, %s. But its answer never comes",
		line.Processor, noun(line.Operation), euros(int64(line.Amount)), line.State), true, nil
}

func (c *Crashes) working(ctx context.Context, op *interruption) (string, bool, error) {
	found, err := c.there.Lookup(ctx, c.facts.name, c.nextKey())
	return fmt.Sprintf("%s has received the %s, and works on it", c.facts.name, op.kind), err == nil && found.State == processor.Running, err
}

func (c *Crashes) finished(ctx context.Context, op *interruption) error {
	err := until(ctx, fmt.Sprintf("the result of the %s at %s", op.kind, c.facts.name), func() (bool, error) {
		found, err := c.there.Lookup(ctx, c.facts.name, op.key)
		return err == nil && found.State == processor.Known, err
	})
	if err == nil {
		c.out.line("   %s finishes the %s while the service is down: nobody is there for its answer", c.facts.name, op.kind)
	}
	return err
}

// cutOff waits until a request was lost on its way to the processor.
func (c *Crashes) cutOff(ctx context.Context, op *interruption) (string, bool, error) {
	key := c.nextKey()
	sent := slices.ContainsFunc(c.there.about(key), func(call call) bool { return call.send })
	found, err := c.there.Lookup(ctx, c.facts.name, key)
	if err == nil && sent && found.State != processor.Unseen {
		err = fmt.Errorf("%s has the %s as %s, although the line was cut", c.facts.name, op.kind, found.State)
	}
	return fmt.Sprintf("the line to %s breaks: the %s is lost on its way, which the service cannot know", c.facts.name, op.kind), sent, err
}

func (c *Crashes) mended(ctx context.Context, _ *interruption) error {
	err := c.there.ClearFaults(ctx)
	if err == nil {
		c.out.line("   the line to %s works again; %[1]s has never seen the refund", c.facts.name)
	}
	return err
}

// nextKey returns the key that the processor gets with the payment's next operation (D14.2).
func (c *Crashes) nextKey() domain.OperationKey {
	return domain.OperationKey(fmt.Sprintf("%s.%d", c.paid.ID, c.shown[c.paid.ID]+1))
}

func noun(kind processor.Kind) string {
	if kind == processor.Authorize {
		return "authorization"
	}
	return string(kind)
}

var errEarly = errors.New("the request was answered before the service was killed")
