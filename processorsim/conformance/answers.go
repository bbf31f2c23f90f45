package conformance

import (
	"encoding/json"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

var answerChecks = []check{
	{
		id: "answer.about",
		promise: "What an answer, a look-up, a list or a notification states about the operation, the payment, the amount and the currency is that of the " +
			"operation under the key.",
		meaning: "After the ledger was restored from a back-up, it takes the outcome of another operation for that of the one under the same key.",
		moves:   true,
		run: func(p *probe) {
			p.everyAnswer(func(where string, op processor.Operation, a processor.Answer) {
				if why := op.Unfit(a); why != "" {
					p.broken("%s of %s %s: %s", where, op.Kind, op.Key, why)
				}
			})
		},
	},
	{
		id: "answer.transaction",
		promise: "The transaction of an authorization, a capture, a refund and a complete never changes: the answer, a repeat, the look-up, the lists and " +
			"the notification have the same.",
		meaning: "The ledger takes a result for none, or refunds and captures another transaction than the one that it booked.",
		moves:   true,
		run:     checkTransactions,
	},
}

func checkTransactions(p *probe) {
	first := map[domain.OperationKey]string{}
	p.everyAnswer(func(where string, op processor.Operation, a processor.Answer) {
		moved := a.State == processor.Pending || a.State == processor.ActionRequired || a.State == processor.Succeeded
		if !moved || op.Kind == processor.Void || op.Kind == processor.Adjust {
			return
		}
		if op.Kind == processor.Complete {
			first[op.Key] = op.ParentID
		}
		if first[op.Key] == "" {
			first[op.Key] = a.ProcessorTransactionID
		}
		if a.ProcessorTransactionID != first[op.Key] {
			p.broken("%s of %s %s has the transaction %q, want %q", where, op.Kind, op.Key, a.ProcessorTransactionID, first[op.Key])
		}
	})
}

// everyKind sends an operation of each kind that the connector can show, and waits for their ends.
func (p *probe) everyKind() (sent []processor.Operation) {
	send := func(op processor.Operation) processor.Answer {
		sent = append(sent, op)
		return p.ended(op)
	}
	sale := send(p.authorize(protocol.CardApproved, 1000))
	refund := p.on(send(p.final(sale, 1000)), processor.Refund, 1000)
	if !p.declared.Can(protocol.CanRefundCapture) {
		refund.ParentID = sale.ProcessorTransactionID
	}
	send(refund)
	send(p.on(sale, processor.Capture, 1)) // is refused
	if p.declared.Can(protocol.CanVoid) {
		send(p.on(send(p.authorize(protocol.CardApproved, 1000)), processor.Void, 0))
	}
	has := func(card protocol.TestCase) bool { return p.declared.TestCards[card] != "" }
	if has(protocol.CardDeclined) {
		send(p.authorize(protocol.CardDeclined, 1000))
	}
	if has(protocol.CardPending) {
		send(p.authorize(protocol.CardPending, 1000))
	}
	if has(protocol.CardCapturePending) {
		send(p.final(send(p.authorize(protocol.CardCapturePending, 1000)), 1000))
	}
	if has(protocol.CardAuthentication) && p.declared.Can(protocol.CanAuthenticate) {
		op := p.authorize(protocol.CardAuthentication, 1000)
		asked := p.action(op)
		p.visit(asked)
		send(p.complete(asked, processor.Authenticated))
		sent = append(sent, op)
	}
	if p.Secret != "" && (has(protocol.CardPending) || has(protocol.CardCapturePending)) {
		p.notified(1)
	}
	return sent
}

// everyAnswer sends operations and calls look with each of their answers: the first one, that of a
// repeat and of the look-up, and those in lists and notifications.
func (p *probe) everyAnswer(look func(where string, op processor.Operation, a processor.Answer)) {
	from := time.Time{}
	sent := map[domain.OperationKey]processor.Operation{}
	for _, op := range p.everyKind() {
		sent[op.Key] = op
		for _, d := range p.done {
			if d.op.Key == op.Key {
				look("the answer", op, d.answer)
			}
		}
		look("a repeat", op, p.send(op))
		found := p.known(op)
		if look("the look-up", op, found); from.IsZero() || found.At.Before(from) {
			from = found.At
		}
	}
	lists := map[string][]processor.Record{"the list of the payment": p.listed()}
	if p.declared.Can(protocol.CanListByTime) {
		lists["the list by time"] = p.between(from.Add(-time.Minute), time.Time{})
	}
	for where, list := range lists {
		for _, r := range list {
			if op, is := sent[r.Key]; is {
				look(where, op, r.Answer)
			}
		}
	}
	for _, d := range p.receiver.Of(p.reference) {
		var n processor.Notification
		if json.Unmarshal(d.Body, &n) == nil && n.Answer != nil {
			if op, is := sent[n.Key]; is {
				look("the notification", op, *n.Answer)
			}
		}
	}
}
