package conformance

import (
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

var fenceChecks = []check{
	{
		id:      "fence.before",
		promise: "A key that never came can be fenced: its look-up is FENCED, an operation under it is refused with the code fenced, and the list has none.",
		meaning: "The ledger records that a payment failed, and the money moves later.",
		moves:   true,
		run: func(p *probe) {
			op := p.authorize(protocol.CardApproved, 1000)
			for range 2 { // a fence can be repeated
				if found := p.fence(op); found.State != processor.Fenced {
					p.broken("the fence of an unseen key is %s, want FENCED", found.State)
				}
			}
			for range 2 {
				if answer := p.refused(op, "under a fenced key"); answer.Code != processor.CodeFenced || answer.Retryable {
					p.broken("an operation under a fenced key has the code %q, want %q and not retryable", answer.Code, processor.CodeFenced)
				}
			}
			if found := p.lookup(op); found.State != processor.Fenced {
				p.broken("the look-up of a fenced key is %s, want FENCED", found.State)
			}
			if n := len(p.listed()); n != 0 {
				p.broken("a fenced key left %d operations", n)
			}
		},
	},
	{
		id:      "fence.after",
		promise: "A fence of a key that came is a look-up: KNOWN with the answer, which stays.",
		meaning: "The ledger records that a payment failed which has moved money.",
		moves:   true,
		run: func(p *probe) {
			op := p.authorize(protocol.CardApproved, 1000)
			first := p.succeeds(op)
			for range 2 {
				found := p.fence(op)
				if found.State != processor.Known {
					p.broken("the fence of a known key is %s, want KNOWN", found.State)
				}
				p.same("the answer of a fence", *found.Answer, first)
			}
			p.same("a repeat after a fence", p.send(op), first)
			p.succeeds(p.final(first, 1000))
		},
	},
	{
		id:      "fence.race",
		promise: "Of a fence and an operation at the same moment exactly one wins: the key is never FENCED and the operation done.",
		meaning: "The ledger records that a payment failed while the customer pays.",
		moves:   true,
		run:     checkFenceRace,
	},
}

// pause lets a short time pass, so that two requests meet in another order.
func (p *probe) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.ctx.Done():
	}
}

func checkFenceRace(p *probe) {
	for i := range 16 {
		op := p.authorize(protocol.CardApproved, 1000)
		var answer processor.Answer
		var found processor.Lookup
		var failed, err error
		over := make(chan struct{})
		late := time.Duration(i/2) * 300 * time.Microsecond // the fence comes later and later, or the operation
		go func() {
			defer close(over)
			p.pause(late * time.Duration(i%2))
			answer, failed = p.client.Send(p.ctx, op)
		}()
		p.pause(late * time.Duration((i+1)%2))
		found, err = p.client.Fence(p.ctx, p.Processor, op.Key)
		<-over
		if err != nil || failed != nil {
			p.broken("a fence beside an operation has no answer: %v; %v", err, failed)
		}
		if answer.RawAnswer = nil; answer.Code != processor.CodeFenced {
			p.remember(op, answer)
		}
		fenced, refused := found.State == processor.Fenced, answer.Code == processor.CodeFenced
		done := len(byKey(p.listed(), op.Key))
		switch {
		case fenced != refused:
			p.broken("the fence is %s, and the operation is %s %s", found.State, answer.State, answer.Code)
		case fenced && done != 0, !fenced && done != 1:
			p.broken("the fence is %s, and the list has %d operations", found.State, done)
		case fenced && p.lookup(op).State != processor.Fenced:
			p.broken("the look-up of a fenced key is not FENCED")
		case !fenced:
			p.same("the look-up after a fence that lost", p.known(op), answer)
		}
	}
}
