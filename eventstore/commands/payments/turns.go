package payments

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
)

// maxWaiting is the number of callers that may wait to change one payment.
const maxWaiting = 128

// turns lets the callers that change one payment pass one at a time, in the order of their arrival (D7). Only payments with such a
// caller are in memory.
type turns struct {
	mu sync.Mutex
	by map[eventstore.Key]*turn
}

// turn is the right to change one payment, and its waiting callers, oldest first.
type turn struct {
	of      *turns
	key     eventstore.Key
	waiting []chan struct{}
}

func newTurns() *turns { return &turns{by: map[eventstore.Key]*turn{}} }

// take takes the turn of a payment; false if another caller has it.
func (t *turns) take(key eventstore.Key) (*turn, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by[key] != nil {
		return nil, false
	}
	held := &turn{of: t, key: key}
	t.by[key] = held
	return held, true
}

// join takes the turn, or a place in its queue. next is closed when the queue gives the turn to the caller; nil if the
// caller has the turn already. It returns false if the queue is full.
func (t *turns) join(key eventstore.Key) (held *turn, next chan struct{}, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	held = t.by[key]
	if held == nil {
		held = &turn{of: t, key: key}
		t.by[key] = held
		return held, nil, true
	}
	if len(held.waiting) >= maxWaiting {
		return nil, nil, false
	}
	next = make(chan struct{})
	held.waiting = append(held.waiting, next)
	return held, next, true
}

// pass gives the turn to the next caller.
func (u *turn) pass() {
	u.of.mu.Lock()
	defer u.of.mu.Unlock()
	u.on()
}

// on is pass for a caller that holds the lock.
func (u *turn) on() {
	if len(u.waiting) == 0 {
		delete(u.of.by, u.key)
		return
	}
	close(u.waiting[0])
	u.waiting = slices.Delete(u.waiting, 0, 1)
}

// leave removes the caller from the queue. If the caller already has the turn, leave passes the turn on.
func (u *turn) leave(next chan struct{}) {
	u.of.mu.Lock()
	defer u.of.mu.Unlock()
	if at := slices.Index(u.waiting, next); at >= 0 {
		u.waiting = slices.Delete(u.waiting, at, at+1)
		return
	}
	u.on()
}

// turn waits for the caller's turn to change the payment, at most until the deadline. A request that is refused for
// another reason than ErrRunning does not wait. A cancel that only records an intent needs no turn: it must not wait
// for the authorization (D7).
func (s *Payments) turn(ctx context.Context, by commands.Caller, o operation) (pass func(), state payment.State, err error) {
	key := s.Log.Payments.Key(by.Account, o.payment)
	if held, ok := s.turns.take(key); ok {
		return held.pass, state, nil
	}
	state, err = s.precheck(ctx, by, o)
	switch {
	case err != nil && !errors.Is(err, payment.ErrRunning):
		return nil, state, err
	case err == nil && o.kind == processor.Void && state.Status() == payment.StatusPending:
		return func() {}, state, nil
	}
	held, next, ok := s.turns.join(key)
	if !ok {
		return nil, state, crowded(state)
	}
	if next == nil {
		return held.pass, state, nil
	}
	defer commands.Aside(ctx)()
	late := time.NewTimer(o.deadline.Left(s.Store.Now()))
	defer late.Stop()
	select {
	case <-next:
		return held.pass, state, nil
	case <-ctx.Done():
		err = domain.Unavailable(ctx.Err())
	case <-late.C:
		err = busy(state)
	case <-s.Draining:
		err = busy(state)
	}
	held.leave(next)
	return nil, state, err
}

func crowded(state payment.State) error {
	err := domain.Refuse(domain.KindConflict, domain.ReasonConcurrentModification,
		"%d other requests wait to change the payment.", maxWaiting)
	err.Recovery = "It is safe to repeat the request later."
	err.Payment, err.Status = state.ID, string(state.Status())
	return err
}
