package instruments

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/secrets"
)

// Limits of the cards that a client token saves (D22). A card counts once its token is recorded,
// also after its deletion. Cards that a merchant's call or a payment vaults do not count.
const (
	SavedPerSession  = 20  // by the client tokens of one session
	SavedPerCustomer = 100 // by the client tokens of all sessions of a customer, in 24 hours

	savedPeriod = 24 * time.Hour
)

// shardOf returns the shard of the cards that client tokens save for a customer. All of them are in
// one shard, so that their order is known, and so that damage of another shard stops nobody from
// saving (newToken).
func (s *Instruments) shardOf(account domain.AccountID, customer string, in domain.SessionID) int {
	return domain.Shard(string(domain.PersonIDFor(secrets.PersonalKeyName(account, customer, in))), s.Store.Shards())
}

// newToken returns a random token. The token of a saved card is in the shard of its customer's
// cards.
func (s *Instruments) newToken(from session.State, saved bool) (domain.Token, error) {
	for {
		random, err := s.Random16()
		if err != nil {
			return "", err
		}
		token := domain.NewToken(random)
		if !saved || domain.Shard(string(token), s.Store.Shards()) == s.shardOf(from.Account, from.CustomerID, from.ID) {
			return token, nil
		}
	}
}

// maySave returns a RateLimitExceeded error if a session, or its customer, has no card left to
// save.
func (s *Instruments) maySave(ctx context.Context, from session.State) error {
	now := s.Store.Now()
	cards, err := s.Customers.SavedCards(ctx, commands.SavedCards{
		Account: from.Account, Session: from.ID, Customer: from.CustomerID, After: now.Add(-savedPeriod), Shard: s.shardOf(from.Account, from.CustomerID, from.ID),
	})
	if err != nil {
		return err
	}
	return limited(cards, from.ID, from.CustomerID, now, from.ExpiresAt)
}

// limited returns a RateLimitExceeded error if a session that ends at a time, or its customer,
// cannot save another card beside these.
func limited(cards []commands.SavedCard, in domain.SessionID, customer string, now, ends time.Time) error {
	inSession, times := 0, []time.Time{}
	for _, card := range cards {
		if card.Session == in {
			inSession++
		}
		if card.Customer == customer && card.At.After(now.Add(-savedPeriod)) {
			times = append(times, card.At)
		}
	}
	slices.SortFunc(times, func(a, b time.Time) int { return b.Compare(a) })
	switch {
	case inSession >= SavedPerSession:
		return &domain.Error{
			Kind: domain.KindUnavailable, Reason: domain.ReasonRateLimitExceeded, RetryAfter: max(time.Second, ends.Sub(now)),
			Message:  "This client session has saved 20 cards, and cannot save another one. The card was not saved.",
			Recovery: "Pay with the card without saving it: POST /payment-instruments without paymentFlow. Or save it in another client session: POST /client-session.",
		}
	case len(times) >= SavedPerCustomer:
		return &domain.Error{
			Kind: domain.KindUnavailable, Reason: domain.ReasonRateLimitExceeded,
			RetryAfter: max(time.Second, times[SavedPerCustomer-1].Add(savedPeriod).Sub(now)),
			Message:    "The customer has saved 100 cards within 24 hours, and cannot save another one now. The card was not saved.",
			Recovery:   "Pay with the card without saving it: POST /payment-instruments without paymentFlow. Or save it after the time of Retry-After.",
		}
	}
	return nil
}

// saving holds the session and its customer until release is called: on one node, their cards are
// counted and saved one after the other.
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

// EndAboveLimit deletes a card that was saved as it was entered if it is above a limit, and then
// returns a RateLimitExceeded error. Several nodes do not wait for each other, so that each may
// find room for one more card: the cards that were recorded first stay. Only cards of the card's
// own shard count, because their order is known: every node, at every time, comes to the same
// result. A card of another shard, from before the merchant changed the session's customer, ends no
// card that was answered as saved. The node that saved the card calls EndAboveLimit; if the node
// ends before, the cleaner of any node does, with known: what this node knows is then enough to
// find no card above a limit.
func (s *Instruments) EndAboveLimit(ctx context.Context, by commands.Caller, inst instrument.State, known bool) error {
	if s.Store.Sole() || !inst.Good() || !inst.Vaulted() || inst.VaultedAt != nil {
		return nil
	}
	of := commands.SavedCards{Account: inst.Account, Session: inst.Session, Customer: inst.CustomerID, After: inst.CreatedAt.Add(-savedPeriod), Shard: -1}
	for _, of.Shard = range []int{-1, domain.Shard(string(inst.Token), s.Store.Shards())} {
		if of.Shard < 0 && !known {
			continue
		}
		cards, err := s.Customers.SavedCards(ctx, of)
		if err != nil {
			return err
		}
		cards = slices.DeleteFunc(cards, func(c commands.SavedCard) bool { return c.Token == inst.Token })
		refused := limited(cards, inst.Session, inst.CustomerID, inst.CreatedAt, inst.ExpiresAt)
		if refused == nil {
			return nil
		}
		if of.Shard < 0 {
			continue
		}
		if cards, err = s.before(ctx, inst, cards); err != nil {
			return err
		}
		if refused = limited(cards, inst.Session, inst.CustomerID, inst.CreatedAt, inst.ExpiresAt); refused == nil {
			return nil
		}
		if _, err := s.DeleteInstrument(ctx, by, inst.Token); err != nil {
			return err
		}
		return refused
	}
	return nil
}

// before returns the cards of a card's shard that were recorded before it.
func (s *Instruments) before(ctx context.Context, inst instrument.State, cards []commands.SavedCard) (before []commands.SavedCard, err error) {
	shard, own, err := s.recorded(ctx, inst.Account, inst.Token)
	if err != nil {
		return nil, err
	}
	for _, card := range cards {
		if domain.Shard(string(card.Token), s.Store.Shards()) != shard {
			continue
		}
		_, address, err := s.recorded(ctx, inst.Account, card.Token)
		if err != nil {
			return nil, err
		}
		if address < own {
			before = append(before, card)
		}
	}
	return before, nil
}

// recorded returns the address at which a token was recorded first.
func (s *Instruments) recorded(ctx context.Context, account domain.AccountID, token domain.Token) (shard int, seq uint64, err error) {
	key := eventstore.Instruments.Key(account, string(token))
	tip, err := s.Store.Load(ctx, key, eventstore.Applied)
	if errors.Is(err, eventstore.ErrNotFound) {
		tip, err = s.Store.Load(ctx, key, eventstore.Latest)
	}
	if err != nil {
		return 0, 0, domain.Unavailable(err)
	}
	events, err := s.Store.Since(ctx, tip, 1)
	if err != nil {
		return 0, 0, domain.Unavailable(err)
	}
	return events[0].Shard, events[0].Seq, nil
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
