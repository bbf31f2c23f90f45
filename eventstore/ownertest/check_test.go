package ownertest

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/anishathalye/porcupine"

	"payledger/eventstore"
)

// check compares the answers to all callers with the log, and with one order of the calls. It reads
// the log with a new node.
func (w *world) check() {
	w.t.Helper()
	if err := w.wrong(); err != nil {
		w.t.Error(err)
	}
}

// wrong is check, and returns the first fault.
func (w *world) wrong() error {
	fresh := w.start()
	w.mu.Lock()
	calls := w.calls
	w.mu.Unlock()
	of := map[eventstore.Key][]*call{}
	for _, c := range calls {
		of[c.key] = append(of[c.key], c)
	}
	for key, calls := range of {
		if err := fresh.compare(key, calls); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) compare(key eventstore.Key, calls []*call) error {
	stored := map[int64]uint64{} // the place of the event of each call
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	events, err := n.store.History(ctx, key)
	if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
		return err
	}
	for i, r := range events {
		e, err := sums.Event(r)
		if err != nil {
			return err
		}
		if stored[e.Call] > 0 {
			return errors.New("an event stands in the log twice")
		}
		stored[e.Call] = uint64(i + 1)
	}
	var order []porcupine.Operation
	for i, c := range calls {
		at := stored[c.from]
		o := porcupine.Operation{ClientId: i, Input: c, Output: c.count, Call: c.from, Return: c.to}
		switch {
		case c.adds && c.err == nil && at != c.count:
			return errors.New("not in the log as it was acknowledged: " + c.String())
		case c.adds && c.err != nil && !errors.Is(c.err, eventstore.ErrUnknown) && at > 0:
			return errors.New("it failed, and stands in the log: " + c.String())
		case c.err != nil && at == 0:
			continue
		case c.err != nil: // it took effect at some time
			o.Output, o.Return = at, math.MaxInt64
		}
		order = append(order, o)
	}
	if !porcupine.CheckOperations(counting, order) {
		for _, c := range calls {
			n.w.t.Log(c)
		}
		return errors.New("the answers fit no order of the calls")
	}
	return nil
}

// counting is the sequential model of an aggregate.
var counting = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, input, output any) (bool, any) {
		next := state.(uint64)
		if input.(*call).adds {
			next++
		}
		return output == next, next
	},
}
