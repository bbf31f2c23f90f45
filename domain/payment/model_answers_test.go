package payment_test

import (
	"slices"

	"payledger/domain/payment"
	"payledger/domain/processor"
)

// find returns the operation that the event at a revision requested.
func (b *book) find(revision uint64) *item {
	for _, i := range b.items {
		if i.revision == revision {
			return i
		}
	}
	return nil
}

func (b *book) timeOut(revision uint64) string {
	switch i := b.find(revision); {
	case i == nil:
		return noSuch
	case i.stage != "asked":
		return answered
	default:
		i.stage = "lost"
		return b.recorded("payment."+timeOuts[i.kind], "")
	}
}

var timeOuts = map[processor.Kind]string{
	processor.Authorize: "authorization_timed_out", processor.Complete: "completion_timed_out",
	processor.Capture: "capture_timed_out", processor.Void: "void_timed_out",
	processor.Refund: "refund_timed_out", processor.Adjust: "adjustment_timed_out",
}

// names are the events of the operations after the authorization: succeeded, failed, pending.
var names = map[processor.Kind][3]string{
	processor.Capture: {"payment.captured", "payment.capture_failed", "payment.capture_pending"},
	processor.Void:    {"payment.voided", "payment.void_failed", "payment.void_pending"},
	processor.Refund:  {"payment.refunded", "payment.refund_failed", "payment.refund_pending"},
	processor.Adjust:  {"payment.adjusted", "payment.adjustment_failed", "payment.adjustment_pending"},
}

// answer records an answer, and notes the transaction that it names.
func (b *book) answer(c payment.RecordAnswer) string {
	of, was := b.find(c.Request), b.revision
	if of != nil && of.kind == processor.Complete {
		of = b.sale
	}
	result := b.decided(c)
	keeps := result == "payment.completion_failed" && of.transaction != ""
	if b.revision > was && c.Answer.ProcessorTransactionID != "" && !keeps {
		of.transaction = c.Answer.ProcessorTransactionID
	}
	return result
}

func (b *book) decided(c payment.RecordAnswer) string {
	i, state := b.find(c.Request), c.Answer.State
	switch {
	case i == nil:
		return noSuch
	case b.awaits(i, state) && b.strange(i, c.Answer):
		return strange
	case i.kind == processor.Authorize && i.stage == "gone" && state == processor.Succeeded:
		i.stage = "yes" // a late fact: it was approved before it was voided
		return b.recorded("payment.authorized", "")
	case state == processor.Succeeded && b.late(i):
		b.revive(i)
	case !i.live() && i.stage != "acts":
		return answered
	case i.stage == "acts" && (state == processor.Pending || state == processor.ActionRequired):
		return answered
	case i.stage == "waits" && state == processor.Pending:
		return answered
	}
	i.given = state == processor.Failed && (c.Answer.Code == processor.CodeFenced || i.kind == processor.Complete)
	switch i.kind {
	case processor.Authorize:
		return b.authorization(c)
	case processor.Complete:
		return b.completion(i, c)
	}
	stages := map[processor.State]struct {
		stage string
		name  int
	}{
		processor.Succeeded: {"yes", 0}, processor.Declined: {"no", 1}, processor.Failed: {"no", 1}, processor.Pending: {"waits", 2},
	}
	to, known := stages[state]
	if !known {
		return unheard
	}
	b.recorded("", "")
	b.hear(i, to.stage, c.EventID)
	if i.kind == processor.Void && to.stage == "yes" && b.sale.stage != "yes" && !(b.sale.stage == "no" && b.end == "DECLINED") {
		b.settleSale("gone", "")
	}
	if i.kind == processor.Void && to.stage == "no" {
		b.notVoided(i, c.Answer)
	}
	return names[i.kind][to.name]
}

// notVoided follows a void that failed: only the refusal of a void that was requested after the
// approval ends the merchant's wish.
func (b *book) notVoided(i *item, a processor.Answer) {
	fault := a.Retryable || a.Code == processor.CodeFenced || a.Code == processor.CodeFault
	switch {
	case b.sale.live() || b.sale.stage == "acts" || b.sale.stage == "no" && b.sale.given:
		b.wish = true
	case b.released || b.alive(processor.Void) > 0 || b.asked(processor.Capture):
	case i.early:
		b.wish = true
		b.follow()
	case fault:
	default:
		b.take() // the capture waited for the void
	}
}

// asked reports whether an operation of a kind was ever requested at the processor, or done there.
func (b *book) asked(kind processor.Kind) bool {
	return slices.ContainsFunc(b.items, func(i *item) bool { return i.kind == kind && i.stage != "refused" })
}

// awaits reports whether the answer is recorded if its transaction is the right one.
func (b *book) awaits(i *item, state processor.State) bool {
	switch {
	case i.stage == "gone":
		return i.kind == processor.Authorize && state == processor.Succeeded
	case i.stage == "acts":
		return state != processor.Pending && state != processor.ActionRequired
	case i.stage == "waits":
		return state != processor.Pending
	}
	return i.live() || state == processor.Succeeded && b.late(i)
}

// strange reports whether an answer with which money may move names another transaction than an
// earlier answer. A completion has that of its authorization.
func (b *book) strange(i *item, a processor.Answer) bool {
	if i.kind == processor.Complete {
		i = b.sale
	}
	moves := a.State == processor.Succeeded || a.State == processor.Pending || a.State == processor.ActionRequired
	acts := i.kind != processor.Void && i.kind != processor.Adjust
	return moves && acts && i.transaction != "" && a.ProcessorTransactionID != "" && i.transaction != a.ProcessorTransactionID
}

// late reports whether an operation recorded as failed may still succeed (D7).
func (b *book) late(i *item) bool {
	switch i.kind {
	case processor.Authorize:
		return i.given && i.stage == "no" && i == b.sale
	case processor.Complete:
		return i.given && i.stage == "over" && b.sale.stage == "acts" && b.alive(processor.Complete) == 0
	case processor.Adjust:
		for _, other := range b.items {
			if other.kind == processor.Adjust && other.revision > i.revision && !other.before && other.stage == "yes" {
				return false
			}
		}
	}
	return i.given && i.stage == "no"
}

// revive requests a given-up operation once more.
func (b *book) revive(i *item) {
	i.stage = "lost"
	switch i.kind {
	case processor.Authorize, processor.Complete:
		return
	case processor.Capture:
		b.taking += i.amount
		if i.final {
			b.finals++
		}
	case processor.Refund:
		b.backing += i.amount
	}
}

// soft are the codes that the machine draws and an issuer may think again about (D13).
var soft = []string{"05", "51", "91", "", "Z9"}

func (b *book) authorization(c payment.RecordAnswer) string {
	a := c.Answer
	tries := 0
	for _, i := range b.items {
		if i.kind == processor.Authorize {
			tries++
		}
	}
	refused := a.State == processor.Failed || a.State == processor.Declined && slices.Contains(soft, a.Code)
	mayMove := b.sale.stage != "acts" && !b.wish && !b.asked(processor.Void)
	switch {
	case a.Retryable && refused && tries < b.targets && mayMove:
		b.recorded("", "")
		b.sale.stage = "no"
		b.ask(item{kind: processor.Authorize})
		return "payment.authorization_rerouted"
	case a.State == processor.Pending:
		b.recorded("", "")
		b.sale.stage = "waits"
		b.follow()
		return "payment.authorization_pending"
	case a.State == processor.ActionRequired:
		b.recorded("", "")
		b.sale.stage = "acts"
		b.follow()
		return "payment.action_required"
	}
	return b.result(a.State)
}

// result is the result of the authorization from any source.
func (b *book) result(state processor.State) string {
	switch state {
	case processor.Succeeded:
		b.recorded("", "")
		b.settleSale("yes", "")
		for _, i := range b.items {
			i.early = i.early || i.kind == processor.Void && i.live()
		}
		b.follow()
		return "payment.authorized"
	case processor.Declined:
		b.recorded("", "")
		b.settleSale("no", "DECLINED")
		return "payment.declined"
	case processor.Failed:
		b.recorded("", "")
		b.settleSale("no", "FAILED")
		return "payment.authorization_failed"
	}
	return unheard
}

func (b *book) completion(i *item, c payment.RecordAnswer) string {
	a := c.Answer
	switch {
	case a.State == processor.Failed && (a.Retryable || a.Code == processor.CodeFenced):
		b.recorded("", "")
		i.stage = "over"
		b.follow()
		return "payment.completion_failed"
	case a.State == processor.Pending:
		b.recorded("", "")
		i.stage = "waits"
		b.follow()
		return "payment.authorization_pending"
	}
	return b.result(a.State)
}
