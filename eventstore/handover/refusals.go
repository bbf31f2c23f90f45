package handover

import (
	"github.com/nats-io/nats.go"

	"payledger/eventstore/format"
)

// Refusals collects refusals, so that a node gets one message for many drafts.
type Refusals struct {
	order  []refusal
	hashes map[refusal][]format.Hash
}

// refusal is what the entries of one message have in common.
type refusal struct {
	reply   string
	why     Refusal
	barrier uint64
}

// Add adds a draft of a request; nil: the readers of the request, whose number is barrier.
func (r *Refusals) Add(reply string, why Refusal, barrier uint64, draft *format.Recorded) {
	if r.hashes == nil {
		r.hashes = map[refusal][]format.Hash{}
	}
	of := refusal{reply, why, barrier}
	if draft != nil {
		of.barrier = 0
	}
	hashes, there := r.hashes[of]
	if !there {
		r.order = append(r.order, of)
	}
	if draft != nil {
		hashes = append(hashes, draft.Hash)
	}
	r.hashes[of] = hashes
}

// Take returns the messages, which name the newest group of this node, and forgets them.
func (r *Refusals) Take(head uint64) (all []*nats.Msg) {
	for _, of := range r.order {
		all = append(all, Refused(of.reply, of.why, head, of.barrier, r.hashes[of]...))
	}
	*r = Refusals{}
	return all
}
