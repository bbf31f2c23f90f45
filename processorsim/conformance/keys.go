package conformance

import (
	"net/http"
	"strings"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

var keyChecks = []check{
	{
		id:      "key.repeat",
		promise: "A repeat under the same key has the same answer, and adds no operation.",
		meaning: "A customer pays twice.",
		moves:   true,
		run: func(p *probe) {
			op := p.authorize(protocol.CardApproved, 1000)
			first := p.succeeds(op)
			capture := p.final(first, 1000)
			taken := p.succeeds(capture)
			for range 2 {
				p.same("a repeated authorization", p.send(op), first)
				p.same("a repeated capture", p.send(capture), taken)
			}
			if n := len(p.listed()); n != 2 {
				p.broken("2 operations and their repeats are %d in the list", n)
			}
		},
	},
	{
		id:      "key.concurrent",
		promise: "Of simultaneous requests under one key one is carried out; the others have its answer, or 409 in_progress.",
		meaning: "A customer pays twice when the ledger's nodes send at the same time.",
		moves:   true,
		run:     checkConcurrent,
	},
	{
		id:      "key.reused",
		promise: "A known key with other contents is refused with 422 key_reused, and changes nothing.",
		meaning: "A fault of the ledger changes a payment that is already made, or hides one that is not.",
		moves:   true,
		run:     checkReused,
	},
	{
		id:      "key.refusal",
		promise: "A refused operation keeps its answer: a repeat under its key is refused with the same, also when it would now be possible.",
		meaning: "The ledger records a failure, and the money moves later.",
		moves:   true,
		run: func(p *probe) {
			sale := p.succeeds(p.authorize(protocol.CardApproved, 1000))
			early := p.on(sale, processor.Refund, 500)
			refusal := p.refused(early, "before a capture")
			p.succeeds(p.final(sale, 1000))
			p.same("a repeat of a refused refund", p.send(early), refusal)
		},
	},
}

func checkConcurrent(p *probe) {
	op := p.authorize(protocol.CardApproved, 1000)
	answers, failed := p.together(16, func(int) processor.Operation { return op })
	want := p.succeeds(op)
	for i, err := range failed {
		switch {
		case err == nil:
			p.same("a simultaneous request", answers[i], want)
		case !strings.Contains(err.Error(), " 409 "+protocol.CodeInProgress):
			p.broken("a simultaneous request is neither answered nor 409 %s: %v", protocol.CodeInProgress, err)
		}
	}
	p.once(op.Key)
	if n := len(p.listed()); n != 1 {
		p.broken("16 simultaneous requests are %d operations", n)
	}
}

func checkReused(p *probe) {
	op := p.authorize(protocol.CardApproved, 1000)
	sale := p.succeeds(op)
	other := p.succeeds(p.authorize(protocol.CardApproved, 1000))
	capture := p.final(sale, 1000)
	p.succeeds(capture)
	p.reused(op, map[string]func(*processor.Operation){
		"amount":    func(o *processor.Operation) { o.Amount = 999 },
		"currency":  func(o *processor.Operation) { o.Currency = "USD" },
		"reference": func(o *processor.Operation) { o.Reference = newReference() },
		"operation": func(o *processor.Operation) { *o = p.on(sale, processor.Capture, 1000) },
	})
	p.reused(capture, map[string]func(*processor.Operation){
		"parentId": func(o *processor.Operation) { o.ParentID = other.ProcessorTransactionID },
		"final":    func(o *processor.Operation) { o.Final = false },
	})
	p.same("the look-up after a reused key", p.known(op), sale)
	if n := len(p.listed()); n != 3 {
		p.broken("reused keys left %d operations, want 3", n)
	}
}

// reused sends an operation with changes under its key.
func (p *probe) reused(op processor.Operation, changes map[string]func(*processor.Operation)) {
	for name, change := range changes {
		other := op
		change(&other)
		code := p.error(p.post(op.Key, encoded(other)), http.StatusUnprocessableEntity)
		if code != protocol.CodeKeyReused {
			p.broken("another %s under a known key is refused with %q, want %q", name, code, protocol.CodeKeyReused)
		}
	}
}
