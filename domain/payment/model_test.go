package payment_test

import (
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// item is one operation in the model.
type item struct {
	revision    uint64
	kind        processor.Kind
	amount      domain.Amount
	final       bool
	of          uint64   // capture that a refund is aimed at, 0 for none
	stage       string   // asked, lost (timed out), waits (pending), acts (customer), yes, no, gone (voided)
	ids         []string // of its answers
	theirs      string   // the processor's id of an operation that we did not request
	before      bool     // an adjustment of theirs that was made before another one
	failedAt    time.Time
	transaction string // the processor's, of the newest answer that names one
	given       bool   // given up: fenced, or an action that was not completed; the processor may have done it
	early       bool   // a void that was open when the approval came
}

func (i *item) live() bool { return i.stage == "asked" || i.stage == "lost" || i.stage == "waits" }

// book is a second opinion on a payment, written from the tables of D7 and D10: running sums, moved
// by hand at every answer, where the rules look at a list of facts.
type book struct {
	revision             uint64
	total                domain.Amount
	currency             domain.Currency
	targets              int // processors of the route
	estimated, automatic bool
	wish                 bool // a cancellation is intended
	keys                 map[string]bool
	items                []*item
	sale                 *item  // the newest authorization
	end                  string // DECLINED or FAILED

	taken, taking   domain.Amount // captured; requested, outcome unknown
	accepted        domain.Amount // of taking: accepted by the processor
	back, backing   domain.Amount // refunded; requested, outcome unknown
	finals          int           // final captures that are under way
	ended, released bool          // a final capture is confirmed; the amount left is released
	now             time.Time
}

// status is the second paragraph of D7.
func (b *book) status() payment.Status {
	switch {
	case b.sale == nil:
		return payment.StatusPending
	case b.taken > 0 && (b.sale.stage == "gone" || b.sale.stage == "no"): // captured all the same
		return payment.StatusSettled
	case b.sale.stage == "gone":
		return payment.StatusCancelled
	case b.sale.stage == "no":
		return payment.Status(b.end)
	case b.sale.stage != "yes":
		return payment.StatusPending
	case b.accepted > 0 && !b.ended:
		return payment.StatusSettling
	case b.taken == 0 && b.released:
		return payment.StatusCancelled
	case b.taken == 0:
		return payment.StatusAuthorized
	case b.accepted == 0 && (b.ended || b.released || b.taken >= b.total):
		return payment.StatusSettled
	}
	return payment.StatusPartiallySettled
}

func (b *book) in(statuses ...payment.Status) bool { return slices.Contains(statuses, b.status()) }

// alive counts the open operations of a kind.
func (b *book) alive(kind processor.Kind) (n int) {
	for _, i := range b.items {
		if i.kind == kind && i.live() {
			n++
		}
	}
	return n
}

// busy returns the operation that the next one must wait for.
func (b *book) busy() *item {
	for _, i := range b.items {
		undecided := i.stage == "waits" && (i.kind == processor.Void || i.kind == processor.Adjust)
		if i.stage == "asked" || i.stage == "lost" || undecided {
			return i
		}
	}
	return nil
}

func (b *book) left() domain.Amount {
	if b.ended || b.released || b.finals > 0 || b.alive(processor.Void) > 0 {
		return 0
	}
	return max(0, b.total-b.taken-b.taking)
}

func (b *book) refundable() domain.Amount { return max(0, b.taken-b.back-b.backing) }

// ask adds the request of the newest event.
func (b *book) ask(i item) *item {
	i.revision = b.revision
	if i.stage == "" {
		i.stage = "asked"
	}
	b.items = append(b.items, &i)
	switch i.kind {
	case processor.Authorize:
		b.sale = &i
	case processor.Capture:
		if i.live() {
			b.taking += i.amount
		}
		if i.live() && i.final {
			b.finals++
		}
	case processor.Refund:
		if i.live() {
			b.backing += i.amount
		}
	}
	return &i
}

// hear records an answer, and updates the sums.
func (b *book) hear(i *item, stage, id string) {
	was := i.stage
	i.stage = stage
	i.ids = append(i.ids, id)
	over := stage == "yes" || stage == "no"
	switch i.kind {
	case processor.Capture:
		if stage == "waits" {
			b.accepted += i.amount
		}
		if over && was == "waits" {
			b.accepted -= i.amount
		}
		if over {
			b.taking -= i.amount
		}
		if over && i.final {
			b.finals--
		}
		if stage == "yes" {
			b.taken += i.amount
			b.ended = b.ended || i.final
		}
	case processor.Refund:
		if over {
			b.backing -= i.amount
		}
		if stage == "yes" {
			b.back += i.amount
		}
	case processor.Adjust:
		if stage == "yes" {
			b.total = i.amount
		}
	case processor.Void:
		b.released = b.released || stage == "yes"
	}
	if stage == "no" || stage == "refused" {
		i.failedAt = b.now
	}
}

// limited reports whether an operation has ended for 24 hours: 100 failed at the processor, or 100
// were refused here (D22.11).
func (b *book) limited(kind processor.Kind) bool {
	return b.ends(kind, "no").After(b.now) || b.ends(kind, "refused").After(b.now)
}

func (b *book) ends(kind processor.Kind, stage string) (end time.Time) {
	var failed []*item
	for _, i := range b.items {
		if i.kind == kind && i.stage == stage {
			failed = append(failed, i)
		}
	}
	slices.SortFunc(failed, func(a, b *item) int { return a.failedAt.Compare(b.failedAt) })
	for len(failed) >= 100 {
		end = failed[99].failedAt.Add(24 * time.Hour)
		failed = slices.DeleteFunc(failed[100:], func(i *item) bool { return i.failedAt.Before(end) })
	}
	return end
}

// settleSale ends the authorization and its completion.
func (b *book) settleSale(stage, end string) {
	b.sale.stage, b.end = stage, end
	for _, i := range b.items {
		if i.kind == processor.Complete && i.live() {
			i.stage = "over"
		}
	}
}

// follow starts the operation that follows an answer: the intended void, or the automatic capture.
func (b *book) follow() {
	if b.released || b.alive(processor.Void) > 0 || b.taken+b.taking > 0 {
		return
	}
	switch {
	case b.wish && slices.Contains([]string{"yes", "waits", "acts"}, b.sale.stage):
		b.ask(item{kind: processor.Void, amount: b.total})
	default:
		b.take()
	}
}

// take starts the automatic capture of an approved payment.
func (b *book) take() {
	if b.automatic && b.sale.stage == "yes" && b.total > 0 {
		b.ask(item{kind: processor.Capture, amount: b.total, final: true})
	}
}
