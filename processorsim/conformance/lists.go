package conformance

import (
	"net/http"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

var listChecks = []check{
	{
		id:      "list.unknown",
		promise: "The list of a payment that the processor does not know is empty; without a payment id it is refused with 400 or 422.",
		meaning: "The ledger takes the operations of another payment for those of this one.",
		run: func(p *probe) {
			if found := p.listed(); len(found) != 0 {
				p.broken("the list of an unknown payment has %d operations", len(found))
			}
			e := p.raw(p.ctx, http.MethodGet, protocol.OperationsPath(p.Processor)+"?reference=", "")
			p.error(e, http.StatusBadRequest, http.StatusUnprocessableEntity)
		},
	},
	{
		id:      "list.payment",
		promise: "The list of a payment has each operation once, in order of creation, with its key, amount, currency, state, parent and answer.",
		meaning: "The ledger misses money that was moved out of band, or counts it twice.",
		moves:   true,
		run:     checkPaymentList,
	},
	{
		id:      "list.outside",
		promise: "The list of a payment has an operation that was made elsewhere once, with a stable key that is not the ledger's; a second capture is FAILED.",
		meaning: "The ledger does not learn of money that was moved in the vendor's pages, and refunds or captures it again.",
		moves:   true,
		needs:   needs{can: []protocol.Capability{protocol.CanListByReference}},
		run:     checkOutside,
	},
	{
		id:      "list.time",
		promise: "The list by time has each operation of the run exactly once, by creation, equal to the list of its payment.",
		meaning: "The comparison with the processor's books misses a difference, or reports one that is not there.",
		moves:   true,
		needs:   needs{can: []protocol.Capability{protocol.CanListByTime}},
		run:     checkTimeList,
	},
	{
		id:      "list.time-bounds",
		promise: "Both bounds of the list by time are included.",
		meaning: "An operation at midnight is in no day's comparison, or in two.",
		moves:   true,
		needs:   needs{can: []protocol.Capability{protocol.CanListByTime}},
		run:     checkBounds,
	},
	{
		id:      "list.time-wrong",
		promise: "A list by time with a wrong time is refused with 400 or 422; one of the future is empty.",
		meaning: "The comparison covers another time than the one that the auditor named.",
		needs:   needs{can: []protocol.Capability{protocol.CanListByTime}},
		run: func(p *probe) {
			for _, query := range []string{"from=yesterday", "to=2026-01-01"} {
				e := p.raw(p.ctx, http.MethodGet, protocol.OperationsPath(p.Processor)+"?"+query, "")
				p.error(e, http.StatusBadRequest, http.StatusUnprocessableEntity)
			}
			if found := p.between(time.Now().Add(100*365*24*time.Hour), time.Time{}); len(found) != 0 {
				p.broken("the list of the future has %d operations", len(found))
			}
		},
	},
}

func checkPaymentList(p *probe) {
	sale := p.authorize(protocol.CardApproved, 1000)
	approved := p.succeeds(sale)
	capture := p.final(approved, 700)
	if !p.declared.Can(protocol.CanCapturePartly) {
		capture.Amount = 1000
	}
	taken := p.succeeds(capture)
	refund := p.on(taken, processor.Refund, capture.Amount)
	if !p.declared.Can(protocol.CanRefundCapture) {
		refund.ParentID = approved.ProcessorTransactionID
	}
	p.succeeds(refund)
	want := []processor.Operation{sale, capture, refund}
	found := p.listed()
	if len(found) != len(want) {
		p.broken("the list has %d operations, want %d", len(found), len(want))
	}
	for i, op := range want {
		r := found[i]
		if r.Key != op.Key || r.Kind != op.Kind || r.Amount != op.Amount || r.Currency != op.Currency || r.ParentID != op.ParentID ||
			r.Final != op.Final || r.State != processor.Succeeded || r.Reference != op.Reference || r.MerchantID != op.MerchantID {
			p.broken("operation %d of the list is %s, want %s", i+1, encoded(r), encoded(op))
		}
		r.Answer.RawAnswer = nil
		p.same("the answer in the list", r.Answer, p.known(op))
	}
}

func checkOutside(p *probe) {
	if p.Outside == nil {
		p.untried("a person has to capture a payment in the vendor's own pages, and to look at the list")
	}
	sale := p.authorize(protocol.CardApproved, 1000)
	approved := p.succeeds(sale)
	if err := p.Outside(p.ctx, p.reference, approved.ProcessorTransactionID); err != nil {
		p.untried("the capture without the ledger failed: %v", err)
	}
	outside := func() processor.Record {
		found := p.listed()
		if len(found) != 2 || found[0].Key != sale.Key {
			p.broken("the list has %d operations, want the authorization and the capture", len(found))
		}
		return found[1]
	}
	first := outside()
	switch {
	case first.Kind != processor.Capture || first.State != processor.Succeeded || first.Amount != 1000 || first.Currency != "EUR" || first.Reference != p.reference:
		p.broken("the capture is listed as %s", encoded(first))
	case first.Key == "" || first.ID == "" || strings.HasPrefix(string(first.Key), string(p.reference)+"."):
		p.broken("the capture has the id %q and the key %q: want its own", first.ID, first.Key)
	}
	if again := outside(); again.Key != first.Key || again.ID != first.ID {
		p.broken("a second list has the capture as %s %s, the first as %s %s", again.ID, again.Key, first.ID, first.Key)
	}
	p.refused(p.final(approved, 1000), "after a capture elsewhere")
}

// between returns the list by time.
func (p *probe) between(from, to time.Time) (found []processor.Record) {
	err := p.client.Operations(p.ctx, p.Processor, from, to, func(r processor.Record) error {
		if r.Unreadable {
			p.broken("operation %q of the list by time cannot be read", r.ID)
		}
		found = append(found, r)
		return nil
	})
	if err != nil {
		p.broken("the list by time cannot be read: %v", err)
	}
	return found
}

func checkTimeList(p *probe) {
	sale := p.succeeds(p.authorize(protocol.CardApproved, 1000))
	p.refused(p.on(sale, processor.Capture, 1001), "above the authorization")
	p.succeeds(p.final(sale, 1000))
	from := sale.At
	for _, d := range p.done {
		if d.answer.At.Before(from) {
			from = d.answer.At
		}
	}
	seen := map[domain.OperationKey]processor.Record{}
	before := time.Time{}
	for _, r := range p.between(from.Add(-time.Minute), time.Time{}) {
		if _, twice := seen[r.Key]; twice && r.Key != "" {
			p.broken("the list by time has the key %s twice", r.Key)
		}
		if r.CreatedAt.Before(before) {
			p.broken("the list by time is not by creation: %s comes after %s", r.CreatedAt, before)
		}
		seen[r.Key], before = r, r.CreatedAt
	}
	for _, d := range p.done {
		r, listed := seen[d.op.Key]
		switch {
		case !listed && d.answer.State == processor.Failed:
			continue // it did nothing
		case !listed:
			p.broken("the list by time does not have %s %s, whose answer was %s", d.op.Kind, d.op.Key, d.answer.State)
		case r.Amount != d.op.Amount && d.op.Kind != processor.Complete && d.op.Kind != processor.Void || r.Kind != d.op.Kind || r.Reference != d.op.Reference:
			p.broken("the list by time has %s of %d for %s of %d", r.Kind, r.Amount, d.op.Kind, d.op.Amount)
		}
	}
	for _, r := range p.listed() {
		if encoded(seen[r.Key]) != encoded(r) {
			p.broken("the list by time has %s, the list of the payment %s", encoded(seen[r.Key]), encoded(r))
		}
	}
}

func checkBounds(p *probe) {
	op := p.authorize(protocol.CardApproved, 1000)
	p.succeeds(op)
	at := p.once(op.Key).CreatedAt
	for _, row := range []struct {
		from, to time.Time
		has      bool
	}{
		{at, at, true}, {at, time.Time{}, true}, {at.Add(-time.Minute), at, true},
		{at.Add(time.Nanosecond), time.Time{}, false}, {at.Add(-time.Minute), at.Add(-time.Nanosecond), false},
	} {
		if n := len(byKey(p.between(row.from, row.to), op.Key)); n != 1 && row.has || n != 0 && !row.has {
			p.broken("an operation of %s is %d times in the list from %s to %s", at, n, row.from, row.to)
		}
	}
}
