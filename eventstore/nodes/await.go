package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"payledger/eventstore/due"
)

// hurryEvery is the time between two requests to the other nodes to report a position.
const hurryEvery = time.Second

// Await returns when every node that serves has applied the log up to a position, this node
// included. A node that has become silent counts no more after Silence: it does not serve then.
func (r *Registry) Await(ctx context.Context, position []uint64) error {
	if r == nil {
		return nil
	}
	if err := r.WaitFor(ctx, position); err != nil {
		return err
	}
	request, err := json.Marshal(position)
	if err != nil {
		return err
	}
	err = r.surely(ctx, func() error { // until this node knows the record of every node that joined before the call
		if err := r.round(ctx); err != nil {
			return err
		}
		return r.complete(ctx)
	})
	if err != nil {
		return err
	}
	var asked time.Duration
	for first := true; ; first = false {
		behind := r.behind(position)
		if len(behind) == 0 {
			return nil
		}
		if now := r.Clock(); first || now-asked >= hurryEvery {
			asked = now
			_ = r.API.Conn.Publish(hurrySubject, request) // without it the nodes report the position with their next beat
		}
		if err := due.Rest(ctx, pause, nil); err != nil {
			return fmt.Errorf("waiting for the nodes %s: %w", strings.Join(behind, ", "), err)
		}
		if err := r.refresh(ctx); err != nil && ctx.Err() != nil {
			return fmt.Errorf("waiting for the nodes %s: %w", strings.Join(behind, ", "), err)
		}
	}
}

func (r *Registry) behind(position []uint64) (nodes []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, p := range r.peers {
		if p.State == Serving && !p.has(position) {
			nodes = append(nodes, id)
		}
	}
	return nodes
}
