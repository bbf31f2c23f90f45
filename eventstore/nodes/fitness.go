package nodes

import (
	"encoding/json"
	"errors"
	"slices"

	"payledger/eventstore/due"
)

// maxOwed is how many positions of other nodes this node notes.
const maxOwed = 64

var errBehind = errors.New("it has not applied an event that another node waits for")

// owe notes a position that another node waits for. As soon as this node has applied it, it beats.
func (r *Registry) owe(data []byte) {
	var position []uint64
	if err := json.Unmarshal(data, &position); err != nil || len(position) != len(r.Applied()) {
		r.Logger.Warn().Err(err).Msg("a position of another node is unreadable")
		return
	}
	now := r.Clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	known := slices.ContainsFunc(r.owed, func(d debt) bool { return slices.Equal(d.position, position) })
	if known || len(r.owed) == maxOwed || r.state == Ended { // the other node repeats its request
		return
	}
	r.owed = append(r.owed, debt{position, now})
	r.loops.Go(func() {
		if r.WaitFor(r.life, position) == nil {
			due.Signal(r.kick)
		}
	})
}

// judge determines whether this node is fit to serve, by the rules in doc.go.
func (r *Registry) judge() {
	applied, unfit, now := Record{Applied: r.Applied()}, r.Healthy(), r.Clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owed = slices.DeleteFunc(r.owed, func(d debt) bool { return applied.has(d.position) })
	if unfit == nil && len(r.owed) > 0 && now-r.owed[0].since >= r.Lease {
		unfit = errBehind
	}
	r.unfit = unfit
	switch {
	case unfit != nil && r.state == Serving:
		r.Logger.Error().Err(unfit).Msg("this node gives up its lease")
		r.state = Starting
		r.shut()
	case unfit == nil && r.state == Starting && r.wanted:
		r.state, r.joins = Serving, r.joins+1
	}
}

// shut ends the service of this node until it has joined again. The caller holds the lock.
func (r *Registry) shut() {
	if r.open {
		r.open, r.entered = false, make(chan struct{})
	}
}
