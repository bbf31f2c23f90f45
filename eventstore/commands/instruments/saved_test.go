package instruments_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/commands/service"
)

// save enters a card in a session, to be saved at once. It returns the refusal.
func (r *rig) save(s *service.Service, from session.State) *domain.Error {
	r.T.Helper()
	made, err := s.Tokenize(background, r.By, instruments.TokenizeInput{Session: from.ID, Vault: true, Card: processor.Card{
		Number: commandstest.ApprovedCard, CVV: "737", ExpirationMonth: "03", ExpirationYear: "2099",
	}})
	if refused, is := errors.AsType[*domain.Error](err); is && refused.Reason == domain.ReasonRateLimitExceeded {
		return refused
	}
	if err != nil {
		r.T.Fatal(err)
	}
	r.Customers.Add(made.Token)
	return nil
}

// TestSavedCardsAreLimited: a client session saves 20 cards, however many requests come at once, and all sessions of a customer save 100 in
// 24 hours. Deleted cards count. Cards that are not saved are entered as before, and another customer is not affected (D22).
func TestSavedCardsAreLimited(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	first := r.Opened(s, session.Fields{CustomerID: "zen"})
	var saved atomic.Int64
	var saving sync.WaitGroup
	for range instruments.SavedPerSession + 4 {
		saving.Go(func() {
			if r.save(s, first) == nil {
				saved.Add(1)
			}
		})
	}
	saving.Wait()
	if saved.Load() != instruments.SavedPerSession {
		t.Errorf("%d cards are saved at once", saved.Load())
	}
	cards, err := r.Customers.Instruments(background, r.By.Account, "zen")
	if err != nil || len(cards) != instruments.SavedPerSession {
		t.Fatal(len(cards), err)
	}
	if _, err := s.DeleteInstrument(background, r.By, cards[0].Token); err != nil {
		t.Fatal(err)
	}
	if refused := r.save(s, first); refused == nil || refused.RetryAfter <= 55*time.Minute || refused.RetryAfter > time.Hour {
		t.Errorf("after the deletion of a card: %+v", refused)
	}
	r.TokenIn(s, first, commandstest.ApprovedCard)
	for range instruments.SavedPerCustomer/instruments.SavedPerSession - 1 {
		next := r.Opened(s, session.Fields{CustomerID: "zen"})
		for range instruments.SavedPerSession {
			if refused := r.save(s, next); refused != nil {
				t.Fatal(refused)
			}
		}
	}
	last := r.Opened(s, session.Fields{CustomerID: "zen"})
	if refused := r.save(s, last); refused == nil || refused.RetryAfter <= 23*time.Hour || refused.RetryAfter > 24*time.Hour {
		t.Errorf("the card after 100: %+v", refused)
	}
	again := r.Service(nil) // another process on the log
	if refused := r.save(again, last); refused == nil {
		t.Error("a process that starts later saves more cards")
	}
	if refused := r.save(s, r.Opened(s, session.Fields{CustomerID: "yuna"})); refused != nil {
		t.Errorf("another customer: %v", refused)
	}
	r.Ahead.Store(int64(24 * time.Hour))
	if refused := r.save(s, r.Opened(s, session.Fields{CustomerID: "zen"})); refused != nil {
		t.Errorf("a day later: %v", refused)
	}
}

// counts are the answers of SavedCards, one after the other.
type counts struct {
	*commandstest.Customers
	mu    sync.Mutex
	inOne []int
}

func (c *counts) SavedCards(context.Context, domain.AccountID, domain.SessionID, string, time.Time, int) (int, []time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.inOne[0]
	c.inOne = c.inOne[1:]
	return n, nil, nil
}

// TestSavedOnTwoNodes: a node of several counts again after it has saved a card. If another node saved the last card meanwhile, the card is
// deleted.
func TestSavedOnTwoNodes(t *testing.T) {
	t.Parallel()
	r := newRigFor(t, false)
	s := r.Service(nil)
	from := r.Opened(s, session.Fields{CustomerID: "zen"})
	for _, c := range []struct {
		counts []int
		saved  bool
	}{{[]int{19, 20}, true}, {[]int{19, 21}, false}, {[]int{20}, false}} {
		s.Customers = &counts{Customers: r.Customers, inOne: c.counts}
		made, err := s.Tokenize(background, r.By, instruments.TokenizeInput{Session: from.ID, Vault: true, Card: processor.Card{
			Number: commandstest.ApprovedCard, CVV: "737", ExpirationMonth: "03", ExpirationYear: "2099",
		}})
		if c.saved != (err == nil) || !c.saved && domain.ReasonOf(err) != domain.ReasonRateLimitExceeded {
			t.Errorf("%v: %v", c.counts, err)
		}
		if made.Token != "" && r.Instrument(made.Token).Good() != c.saved {
			t.Errorf("%v: the card is saved: %v", c.counts, !c.saved)
		}
	}
}
