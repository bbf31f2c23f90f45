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

const maxWaiting = 128 // the number of callers that may wait to change one payment

// changeLocks let the callers that change one payment pass one at a time, in the order of their
// arrival (D7).
type changeLocks struct {
	mu    sync.Mutex
	byKey map[eventstore.Key]*changeLock
}

// changeLock is the right to change one payment. Sending to held acquires the lock; receiving
// releases it. The runtime serves blocked senders in the order of their arrival.
type changeLock struct {
	of    *changeLocks
	key   eventstore.Key
	held  chan struct{}
	users int // the holder and the waiting callers; guarded by changeLocks.mu
}

// join returns the lock of a payment. The caller counts as its user until leave or unlock. held
// reports that the caller is its only user and holds it. The lock is nil if it has more than limit
// users.
func (l *changeLocks) join(key eventstore.Key, limit int) (lock *changeLock, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lock = l.byKey[key]
	if lock == nil {
		lock = &changeLock{of: l, key: key, held: make(chan struct{}, 1), users: 1}
		lock.held <- struct{}{}
		l.byKey[key] = lock
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
		delete(k.of.byKey, k.key)
	}
}

func (k *changeLock) unlock() {
	<-k.held
	k.leave()
}

// lock waits until the deadline for the right to change the payment. If another caller holds the
// lock, a request that is refused for another reason than ErrRunning does not wait. A cancel that
// records an intent needs no lock: it must not wait for the authorization (D7).
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
		return nil, state, conflictOn(state, domain.ReasonConcurrentModification,
			fmt.Sprintf("%d other requests wait to change the payment.", maxWaiting), "It is safe to repeat the request later.")
	case held:
		return lock.unlock, state, nil
	}
	defer commands.Aside(ctx)()
	select {
	case lock.held <- struct{}{}:
		if err = s.CheckActor(ctx, by); err != nil {
			lock.unlock()
			return nil, state, err
		}
		return lock.unlock, state, nil
	case <-ctx.Done():
		err = domain.Unavailable(ctx.Err())
	case <-time.After(o.deadline.Left(s.Store.Now())):
		err = runningConflict(state)
	case <-s.Draining:
		err = runningConflict(state)
	}
	lock.leave()
	return nil, state, err
}
