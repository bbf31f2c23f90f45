package payments

import (
	"context"
	"errors"
	"fmt"
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

// changeLocks let the callers that change one payment pass one at a time, in the order of their arrival (D7). Only
// payments with such a caller are in memory.
type changeLocks struct {
	mu sync.Mutex
	by map[eventstore.Key]*changeLock
}

// changeLock is the right to change one payment. To send to held takes the right, to receive returns it. The runtime
// serves blocked senders in the order of their arrival.
type changeLock struct {
	of    *changeLocks
	key   eventstore.Key
	held  chan struct{}
	users int // the holder and the waiting callers; guarded by changeLocks.mu
}

// join returns the lock of a payment, of which the caller is a user until leave or unlock. held reports that the caller
// is its only user and holds it. The lock is nil if it has more than limit users.
func (l *changeLocks) join(key eventstore.Key, limit int) (lock *changeLock, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lock = l.by[key]
	if lock == nil {
		lock = &changeLock{of: l, key: key, held: make(chan struct{}, 1), users: 1}
		lock.held <- struct{}{}
		l.by[key] = lock
		return lock, true
	}
	if lock.users > limit {
		return nil, false
	}
	lock.users++
	return lock, false
}

// leave ends the use by a caller that does not hold the lock.
func (k *changeLock) leave() {
	k.of.mu.Lock()
	defer k.of.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(k.of.by, k.key)
	}
}

// unlock passes the lock to the next caller.
func (k *changeLock) unlock() {
	<-k.held
	k.leave()
}

// lock waits for the right to change the payment, at most until the deadline. A request that is refused for another
// reason than ErrRunning does not wait. A cancel that only records an intent needs no lock: it must not wait for the
// authorization (D7).
func (s *Payments) lock(ctx context.Context, by commands.Caller, o operation) (unlock func(), state payment.State, err error) {
	key := s.Log.Payments.Key(by.Account, o.payment)
	if lock, held := s.locks.join(key, 0); held {
		return lock.unlock, state, nil
	}
	state, err = s.precheck(ctx, by, o)
	switch {
	case err != nil && !errors.Is(err, payment.ErrRunning):
		return nil, state, err
	case err == nil && o.kind == processor.Void && state.Status() == payment.StatusPending:
		return func() {}, state, nil
	}
	lock, held := s.locks.join(key, maxWaiting)
	switch {
	case lock == nil:
		return nil, state, notNow(state, domain.ReasonConcurrentModification,
			fmt.Sprintf("%d other requests wait to change the payment.", maxWaiting), "It is safe to repeat the request later.")
	case held:
		return lock.unlock, state, nil
	}
	defer commands.Aside(ctx)()
	late := time.NewTimer(o.deadline.Left(s.Store.Now()))
	defer late.Stop()
	select {
	case lock.held <- struct{}{}:
		return lock.unlock, state, nil
	case <-ctx.Done():
		err = domain.Unavailable(ctx.Err())
	case <-late.C:
		err = busy(state)
	case <-s.Draining:
		err = busy(state)
	}
	lock.leave()
	return nil, state, err
}
