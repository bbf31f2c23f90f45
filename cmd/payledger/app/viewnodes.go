package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"payledger/eventstore/nodes"
	"payledger/httpapi/passing"
)

// patient is the time within which a node takes a call by far. A node that does not is to blame,
// even if the caller went away.
const patient = 500 * time.Millisecond

// avoidFor is how long a node that did not take a call is called after the others. A node that is
// gone has left the registry by then.
const avoidFor = nodes.DefaultSilence

// viewNodes chooses among the nodes with views: one slow or frozen node must not hold all calls of
// this one.
type viewNodes struct {
	mu    sync.Mutex
	calls map[string]int       // under way, by node
	avoid map[string]time.Time // nodes that did not take a call, until then
}

// order returns nodes in the order in which they are called: those with the fewest calls under way
// first, at random among equals.
func (v *viewNodes) order(ids []string, now time.Time) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, until := range v.avoid {
		if now.After(until) {
			delete(v.avoid, id)
		}
	}
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] }) //nolint:gosec // no secret
	slices.SortStableFunc(ids, func(a, b string) int {
		return cmp.Or(v.avoid[a].Compare(v.avoid[b]), cmp.Compare(v.calls[a], v.calls[b]))
	})
	return ids
}

// verdict is what a call says about a node.
type verdict int

const (
	wasTaken verdict = iota
	wasNotTaken
	wasGivenUp // soon
)

// begin counts a call. Call end when the call is over.
func (v *viewNodes) begin(id string) (end func(verdict)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.calls == nil {
		v.calls, v.avoid = map[string]int{}, map[string]time.Time{}
	}
	v.calls[id]++
	return func(was verdict) {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.calls[id]--; v.calls[id] == 0 {
			delete(v.calls, id)
		}
		switch was {
		case wasTaken:
			delete(v.avoid, id)
		case wasNotTaken:
			v.avoid[id] = time.Now().Add(avoidFor)
		}
	}
}

// viewAnswer is an answer that counts as under way until it is closed.
type viewAnswer struct {
	*nodes.Answer
	end func(verdict)
}

// Close implements passing.Answer.
func (v *viewAnswer) Close() {
	v.Answer.Close()
	v.end(wasTaken)
}

// call sends a request to a node with views: to one after the other, until one takes it.
func (a *App) call(ctx context.Context, kind byte, request []byte) (*viewAnswer, error) {
	var with []string
	for _, node := range a.Nodes.Live() {
		if node.State == nodes.Serving && node.Role.KeepsViews() {
			with = append(with, node.Node)
		}
	}
	failed, message := passing.ErrNobody, append([]byte{kind}, request...)
	for _, node := range a.viewNodes.order(with, time.Now()) {
		end, began := a.viewNodes.begin(node), time.Now()
		answer, err := a.Nodes.Call(ctx, node, message)
		if err == nil {
			return &viewAnswer{answer, end}, nil
		}
		if ctx.Err() != nil && time.Since(began) < patient { // the caller went away
			end(wasGivenUp)
		} else {
			end(wasNotTaken)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		failed = errors.Join(failed, fmt.Errorf("%s: %w", node, err))
	}
	return nil, failed
}
