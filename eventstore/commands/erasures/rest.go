package erasures

import (
	"cmp"
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/person"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/secrets"
	"payledger/eventstore/workers"
)

const atOnce = 32 // how many guests and cards of a customer are erased at the same time

// guests returns the guests of a customer's sessions who have data that is not erased.
func (s *Erasures) guests(ctx context.Context, w who, belongs func(since time.Time, erased person.State) bool) (guests []who, known bool, err error) {
	all, known, err := s.Customers.CustomerSessions(ctx, w.account, w.customer)
	if err != nil {
		return nil, known, err
	}
	for _, linked := range all {
		guest := who{account: w.account, session: linked.ID}
		tip, err := s.Log.Persons.Load(ctx, w.account, guest.id(), eventstore.Applied)
		if err != nil {
			return nil, known, err
		}
		there, err := s.Secrets.HasKey(ctx, guest.key(), tip.State.Number())
		if err != nil {
			return nil, known, domain.Unavailable(err)
		}
		if tip.State.Due() || there && belongs(linked.Since, tip.State) {
			guests = append(guests, guest)
		}
	}
	return guests, known, nil
}

// always is what belongs to an erasure that a caller asks for: everything that is there.
func always(time.Time, person.State) bool { return true }

// slack is the largest difference between nodes' clocks.
const slack = time.Minute

// until limits an erasure that is continued later to the data that the customer had at that time
// and that was not erased since. Times of other nodes may be ahead by slack: data of so long after
// the time is erased, too.
func until(at time.Time) func(time.Time, person.State) bool {
	return func(since time.Time, erased person.State) bool {
		return !since.After(at.Add(slack)) && (!erased.Exists() || erased.ErasedAt.Before(at))
	}
}

// eraseRest deletes the tokens of a customer's vaulted cards, and erases the guests of the
// customer's sessions. It returns the cards of all deleted tokens, also of those that an erasure
// deleted which a crash ended: they are destroyed after the customer's key.
func (s *Erasures) eraseRest(ctx context.Context, by commands.Caller, w who, belongs func(time.Time, person.State) bool) ([]secrets.CardRef, error) {
	if w.customer == "" {
		return nil, nil
	}
	guests, _, err := s.guests(ctx, w, belongs) // the views show everything after that
	if err != nil {
		return nil, err
	}
	cards, err := s.Customers.Instruments(ctx, w.account, w.customer)
	if err != nil {
		return nil, err
	}
	ended := make([]bool, len(cards))
	failed := workers.Each(len(cards), atOnce, func(i int) error {
		since := cards[i].CreatedAt
		if cards[i].VaultedAt != nil {
			since = *cards[i].VaultedAt
		}
		if ended[i] = !cards[i].Good(); ended[i] || !belongs(since, person.State{}) {
			return nil
		}
		_, err := s.Instruments.EndInstrument(ctx, by, cards[i].Token)
		if domain.ReasonOf(err) == domain.ReasonInstrumentToken { // it was made invalid meanwhile
			err = nil
		}
		ended[i] = err == nil
		return err
	})
	var refs []secrets.CardRef
	for i, card := range cards {
		if ended[i] {
			refs = append(refs, instruments.CardRef(card))
		}
	}
	return refs, errors.Join(cmp.Or(failed...), s.eraseGuests(ctx, by, guests))
}

// eraseGuests erases guests: their erasures are in the log first, and their keys are then destroyed
// together.
func (s *Erasures) eraseGuests(ctx context.Context, by commands.Caller, guests []who) error {
	keys := make([]secrets.PersonKeys, len(guests))
	failed := workers.Each(len(guests), atOnce, func(i int) error {
		w := guests[i]
		tip, err := commands.Follow(ctx, s.Base, by, s.Log.Persons.Execute, w.id(), func(state person.State, at time.Time) (person.Event, error) {
			return person.DecideErase(state, person.Erase{At: at, ID: w.id(), Account: w.account, Session: w.session})
		})
		if err == nil {
			keys[i] = secrets.PersonKeys{Name: w.key(), Through: tip.State.Erased}
			s.Secrets.Forget(w.key(), tip.State.Erased)
		}
		return err
	})
	if err := errors.Join(cmp.Or(failed...), s.Secrets.DestroyPersons(ctx, keys)); err != nil {
		return err
	}
	return cmp.Or(workers.Each(len(guests), atOnce, func(i int) error {
		_, err := s.destroyed(ctx, by, guests[i], keys[i].Through)
		return err
	})...)
}

func (s *Erasures) destroyed(ctx context.Context, by commands.Caller, w who, number uint64) (person.State, error) {
	tip, err := commands.Follow(ctx, s.Base, by, s.Log.Persons.Execute, w.id(), func(now person.State, at time.Time) (person.Event, error) {
		return person.DecideKeyDestroyed(now, at, number)
	})
	return tip.State, err
}
