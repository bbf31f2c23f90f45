package instruments

import (
	"context"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/session"
	"payledger/eventstore/commands"
)

// Limits of the cards that a client token saves (D22). A card counts once its token is recorded, also after its deletion. Cards that
// a merchant's call or a payment vaults do not count.
const (
	SavedPerSession  = 20  // by the client tokens of one session
	SavedPerCustomer = 100 // by the client tokens of all sessions of a customer, in 24 hours

	savedPeriod = 24 * time.Hour
)

// maySave returns a RateLimitExceeded error if a session, or its customer, has no card left to save. above is the number of further
// cards that are recorded already.
func (s *Instruments) maySave(ctx context.Context, from session.State, above int) error {
	now := s.Store.Now()
	inSession, times, err := s.Customers.SavedCards(ctx, from.Account, from.ID, from.CustomerID, now.Add(-savedPeriod), SavedPerCustomer+above)
	switch {
	case err != nil:
		return err
	case inSession >= SavedPerSession+above:
		return &domain.Error{
			Kind: domain.KindUnavailable, Reason: domain.ReasonRateLimitExceeded, RetryAfter: max(time.Second, from.ExpiresAt.Sub(now)),
			Message:  "This client session has saved 20 cards, and cannot save another one. The card was not saved.",
			Recovery: "Pay with the card without saving it, or save it in another client session.",
		}
	case len(times) >= SavedPerCustomer+above:
		return &domain.Error{
			Kind: domain.KindUnavailable, Reason: domain.ReasonRateLimitExceeded,
			RetryAfter: max(time.Second, times[SavedPerCustomer-1].Add(savedPeriod).Sub(now)),
			Message:    "The customer has saved 100 cards within 24 hours, and cannot save another one now. The card was not saved.",
			Recovery:   "Pay with the card without saving it, or save it after the time of Retry-After.",
		}
	}
	return nil
}

// saving holds the session and its customer until release is called: on one node, their cards are counted and saved one after the other.
func (s *Instruments) saving(ctx context.Context, from session.State) (release func(), err error) {
	inSession, err := s.locks.lock(ctx, "session\x00"+string(from.ID))
	if err != nil {
		return nil, domain.Unavailable(err)
	}
	ofCustomer, err := s.locks.lock(ctx, "customer\x00"+string(from.Account)+"\x00"+from.CustomerID)
	if err != nil {
		inSession()
		return nil, domain.Unavailable(err)
	}
	return func() { ofCustomer(); inSession() }, nil
}

// stillSaved checks the limits again after a card was saved on one of several nodes, which did not wait for each other: the node that
// recorded its card last counts all of them. It deletes the card above a limit.
func (s *Instruments) stillSaved(ctx context.Context, by commands.Caller, from session.State, token domain.Token) error {
	if s.Store.Sole() {
		return nil
	}
	refused := s.maySave(ctx, from, 1)
	if domain.ReasonOf(refused) != domain.ReasonRateLimitExceeded {
		return nil //nolint:nilerror // the card is saved; a count that fails changes nothing about it
	}
	if _, err := s.DeleteInstrument(ctx, by, token); err != nil {
		return err
	}
	return refused
}

// locks are locks by name.
type locks struct {
	mu  sync.Mutex
	all map[string]*namedLock
}

type namedLock struct {
	held  chan struct{} // has an element while the lock is held
	users int
}

// lock waits until it holds a lock, or ctx ends.
func (l *locks) lock(ctx context.Context, name string) (release func(), err error) {
	l.mu.Lock()
	if l.all == nil {
		l.all = map[string]*namedLock{}
	}
	one := l.all[name]
	if one == nil {
		one = &namedLock{held: make(chan struct{}, 1)}
		l.all[name] = one
	}
	one.users++
	l.mu.Unlock()
	done := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(l.all, name)
		}
	}
	select {
	case one.held <- struct{}{}:
		return func() { <-one.held; done() }, nil
	case <-ctx.Done():
		done()
		return nil, ctx.Err()
	}
}
