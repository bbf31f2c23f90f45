package conformance

import (
	"encoding/json"
	"fmt"

	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/conformance/receiver"
	"payledger/processorsim/protocol"
)

var pendingChecks = []check{
	{
		id:      "pending.authorize",
		promise: "A PENDING authorization gets its result: the look-up, the list and a repeat under its key agree, and it can then be captured.",
		meaning: "A payment stays open for ever, or is taken for paid too early.",
		moves:   true,
		needs:   needs{cards: []protocol.TestCase{protocol.CardPending}},
		run: func(p *probe) {
			op := p.authorize(protocol.CardPending, 1000)
			first := p.pending(op)
			answer := p.result(op, first)
			p.succeeds(p.final(answer, 1000))
		},
	},
	{
		id:      "pending.capture",
		promise: "A PENDING capture gets its result: the look-up, the list and a repeat under its key agree.",
		meaning: "The merchant ships an order that is not paid, or does not ship one that is.",
		moves:   true,
		needs:   needs{cards: []protocol.TestCase{protocol.CardCapturePending}},
		run: func(p *probe) {
			sale := p.succeeds(p.authorize(protocol.CardCapturePending, 1000))
			op := p.final(sale, 1000)
			p.result(op, p.pending(op))
			p.succeeds(p.on(sale, processor.Refund, 1000))
		},
	},
	{
		id:      "notification",
		promise: "The result of a PENDING operation is sent to its notifyUrl, signed, with the operation's key, payment and kind, and equals the look-up.",
		meaning: "The merchant learns of a payment late, or somebody else can report payments.",
		moves:   true,
		needs:   needs{secret: true},
		run:     checkNotification,
	},
	{
		id:      "notification.repeat",
		promise: "A notification that is not answered with 2xx comes again, with the same id and the same bytes.",
		meaning: "A result is lost when the ledger is restarted, or counts twice.",
		moves:   true,
		needs:   needs{secret: true},
		run:     checkNotificationRepeat,
	},
}

// pending sends an operation that must be PENDING, in the look-up as well.
func (p *probe) pending(op processor.Operation) processor.Answer {
	answer := p.send(op)
	if answer.State != processor.Pending {
		p.broken("%s with its pending card is %s %s, want PENDING", op.Kind, answer.State, answer.Code)
	}
	return answer
}

// result waits for the result of a pending operation, which must succeed under the same
// transaction.
func (p *probe) result(op processor.Operation, first processor.Answer) processor.Answer {
	if r := p.once(op.Key); r.State != processor.Pending && r.State != processor.Succeeded {
		p.broken("the list has a pending %s as %s", op.Kind, r.State)
	}
	answer := first
	p.until("the result of a pending "+string(op.Kind), func() bool {
		answer = p.known(op)
		return answer.State != processor.Pending
	})
	if answer.State != processor.Succeeded || answer.ProcessorTransactionID != first.ProcessorTransactionID {
		p.broken("a pending %s ends as %s with the transaction %q, want SUCCEEDED with %q", op.Kind, answer.State, answer.ProcessorTransactionID, first.ProcessorTransactionID)
	}
	if r := p.once(op.Key); r.State != processor.Succeeded {
		p.broken("after the result the list has %s as %s", op.Kind, r.State)
	}
	if again := p.send(op); again.State != processor.Pending {
		p.same("a repeat after the result", again, answer)
	}
	return answer
}

// later sends an operation that is PENDING; ok is false if no test card leads to one.
func (p *probe) later() (op processor.Operation, ok bool) {
	switch {
	case p.declared.TestCards[protocol.CardPending] != "":
		op = p.authorize(protocol.CardPending, 1000)
	case p.declared.TestCards[protocol.CardCapturePending] != "":
		op = p.final(p.succeeds(p.authorize(protocol.CardCapturePending, 1000)), 1000)
	default:
		return op, false
	}
	p.pending(op)
	return op, true
}

// notified waits for n notifications about the probe's payment.
func (p *probe) notified(n int) []receiver.Delivery {
	var came []receiver.Delivery
	p.until(fmt.Sprintf("notification %d about the payment", n), func() bool {
		came = p.receiver.Of(p.reference)
		return len(came) >= n
	})
	for _, d := range came {
		p.log.add(&Exchange{Method: "POST", Path: "(notification)", Request: p.recorder.masked(shown(d.Body)), Status: d.Status})
	}
	return came
}

// notification reads a signed notification as the ledger does.
func (p *probe) notification(d receiver.Delivery) processor.SignedNotification {
	n, err := adapter.ParseNotification([]byte(p.Secret), p.Processor, d.Header, d.Body)
	if err != nil {
		p.broken("the ledger refuses a notification: %v", err)
	}
	if n.Unreadable != "" {
		p.broken("the ledger cannot read a notification: %s", n.Unreadable)
	}
	return n
}

func checkNotification(p *probe) {
	op, ok := p.later()
	if !ok {
		p.untried("the connector declares no test card %q or %q", protocol.CardPending, protocol.CardCapturePending)
	}
	n := p.notification(p.notified(1)[0])
	if n.Kind != op.Kind || n.Key != op.Key || n.Reference != op.Reference || n.Answer == nil {
		p.broken("the notification is about %s %s of %s, want %s %s of %s", n.Kind, n.Key, n.Reference, op.Kind, op.Key, op.Reference)
	}
	p.same("the look-up after the notification", p.known(op), *n.Answer)
}

func checkNotificationRepeat(p *probe) {
	p.receiver.RefuseNext(p.reference, 2)
	if _, ok := p.later(); !ok {
		p.untried("the connector declares no test card %q or %q", protocol.CardPending, protocol.CardCapturePending)
	}
	came := p.notified(3)
	for _, d := range came[1:3] {
		if string(d.Body) != string(came[0].Body) {
			p.broken("a repeated notification has another body: %s, first %s", d.Body, came[0].Body)
		}
		p.notification(d)
	}
}

// notificationID returns the id of a notification's body.
func notificationID(body json.RawMessage) string {
	var named struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(body, &named) // "" then, which no notification has
	return named.ID
}
