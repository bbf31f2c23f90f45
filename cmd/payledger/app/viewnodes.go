package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/eventstore/nodes"
	"payledger/httpapi/passing"
)

// patient is the time within which a node takes a call by far. A node that does not is to blame,
// even if the caller went away.
const patient = 500 * time.Millisecond

// viewAnswer is an answer that counts as under way until it is closed.
type viewAnswer struct {
	*nodes.Answer
	end func(nodes.Verdict)
}

// Close implements passing.Answer.
func (v *viewAnswer) Close() {
	v.Answer.Close()
	v.end(nodes.Taken)
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
	for _, node := range a.viewNodes.Order(with, time.Now()) {
		end, began := a.viewNodes.Begin(node), time.Now()
		answer, err := a.Nodes.Call(ctx, node, message)
		if err == nil {
			return &viewAnswer{answer, end}, nil
		}
		if ctx.Err() != nil && time.Since(began) < patient { // the caller went away
			end(nodes.GivenUp)
		} else {
			end(nodes.NotTaken)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		failed = errors.Join(failed, fmt.Errorf("%s: %w", node, err))
	}
	return nil, failed
}
