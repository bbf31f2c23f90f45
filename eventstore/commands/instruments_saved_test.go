package commands_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/commands/sessions"
	"payledger/eventstore/secrets"
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

// TestSavedCardsAreLimited: a client session saves 20 cards, however many requests come at once,
// and all sessions of a customer save 100 in 24 hours. Deleted cards count. Cards that are not
// saved are entered as before, and another customer is not affected (D22).
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

// after is the real Customers of a node, which calls a function after the first answer: it is the
// last one before the node records its card.
type after struct {
	commands.Customers
	once sync.Once
	then func()
}

func (a *after) SavedCards(ctx context.Context, of commands.SavedCards) ([]commands.SavedCard, error) {
	cards, err := a.Customers.SavedCards(ctx, of)
	a.once.Do(a.then)
	return cards, err
}

// zen opens a session of a customer, and saves cards.
func (r *rig) zen(s *service.Service, cards int) session.State {
	r.T.Helper()
	from := r.Opened(s, session.Fields{CustomerID: "zen"})
	for range cards {
		if refused := r.save(s, from); refused != nil {
			r.T.Fatal(refused)
		}
	}
	return from
}

// good returns the number of cards that were saved in a session and can pay, and all of them in the
// order of their records.
func (r *rig) good(from session.State) (good int, all []instrument.State) {
	r.T.Helper()
	for shard := range r.Store.Shards() { // of what other nodes recorded, too
		if _, err := r.Store.LastSeq(background, shard); err != nil {
			r.T.Fatal(err)
		}
	}
	cards, err := r.Customers.SavedCards(background, commands.SavedCards{Account: r.By.Account, Session: from.ID, Shard: -1})
	if err != nil {
		r.T.Fatal(err)
	}
	for _, card := range cards {
		tip, err := eventstore.NewRepositories(r.Store).Instruments.Load(background, r.By.Account, card.Token, eventstore.Latest)
		if err != nil {
			r.T.Fatal(err)
		}
		if all = append(all, tip.State); tip.State.Good() {
			good++
		}
	}
	return good, all
}

// TestSavedOnTwoNodes: two nodes find 19 cards, and both save one. The card that was recorded first
// stays; the node of the other one deletes it, and says so.
func TestSavedOnTwoNodes(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	nodes := r.TwoNodes()
	from := r.zen(nodes[0].Service, instruments.SavedPerSession-1)
	var found, saving sync.WaitGroup
	found.Add(len(nodes))
	var refused, saved atomic.Int64
	for _, n := range nodes {
		n.Service.Customers = &after{Customers: r.Customers, then: func() { found.Done(); found.Wait() }}
		saving.Go(func() {
			if r.save(n.Service, from) != nil {
				refused.Add(1)
			} else {
				saved.Add(1)
			}
		})
	}
	saving.Wait()
	good, all := r.good(from)
	if saved.Load() != 1 || refused.Load() != 1 || good != instruments.SavedPerSession || len(all) != instruments.SavedPerSession+1 {
		t.Fatalf("%d are saved and %d refused; %d of %d cards are left", saved.Load(), refused.Load(), good, len(all))
	}
	if all[instruments.SavedPerSession].Good() {
		t.Error("the card that was recorded last stays")
	}
	for _, n := range nodes { // the cleaner comes to the same result
		r.Cleaned(n.Service)
	}
	if good, _ := r.good(from); good != instruments.SavedPerSession {
		t.Errorf("%d cards are left after the cleaner", good)
	}
}

// TestSavedCardAboveTheLimitAfterACrash: a node saves a card, while another node saves the last
// one, and ends before it deletes its card. The cleaner of another node deletes it.
func TestSavedCardAboveTheLimitAfterACrash(t *testing.T) {
	t.Parallel()
	for effect, mode := range map[string]commandstest.FailureMode{"instrument.tokenized": commandstest.CrashAfter, "instrument.deleted": commandstest.CrashBefore} {
		t.Run(effect, func(t *testing.T) {
			t.Parallel()
			r := newCluster(t)
			s := r.Service(nil)
			from := r.zen(s, instruments.SavedPerSession-1)
			r.Dies(effect, mode, func(n *commandstest.Node) error {
				n.Service.Customers = &after{Customers: r.Customers, then: func() {
					if refused := r.save(s, from); refused != nil {
						t.Error(refused)
					}
				}}
				_, err := n.Service.Tokenize(n.Ctx, r.By, instruments.TokenizeInput{Session: from.ID, Vault: true, Card: processor.Card{
					Number: commandstest.ApprovedCard, CVV: "737", ExpirationMonth: "03", ExpirationYear: "2099",
				}})
				return err
			})
			good, all := r.good(from)
			if good != instruments.SavedPerSession+1 {
				t.Fatalf("the crash leaves %d of %d cards", good, len(all))
			}
			r.Cleaned(s)
			if good, all = r.good(from); good != instruments.SavedPerSession || all[instruments.SavedPerSession].Good() {
				t.Errorf("%d cards are left after the cleaner", good)
			}
			if kept, err := r.Vault.Kept(background, r.ref(all[instruments.SavedPerSession].Token)); kept || err != nil {
				t.Errorf("the number of the deleted card is there: %t, %v", kept, err)
			}
		})
	}
}

// TestSavedInOneShard: the cards of a customer are in one shard, whatever their session is.
func TestSavedInOneShard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	shards := map[int]bool{}
	for range 3 {
		_, all := r.good(r.zen(s, 3))
		for _, inst := range all {
			shards[r.Store.ShardOf(eventstore.Instruments.Key(inst.Account, string(inst.Token)))] = true
		}
	}
	if len(shards) != 1 || r.Store.Shards() < 2 {
		t.Errorf("the cards are in the shards %v of %d", shards, r.Store.Shards())
	}
}

// knows is the Customers of a node that counts only some cards, or cannot count.
type knows struct {
	commands.Customers
	card func(commands.SavedCard) bool
	err  error
}

func (k *knows) SavedCards(ctx context.Context, of commands.SavedCards) ([]commands.SavedCard, error) {
	cards, err := k.Customers.SavedCards(ctx, of)
	return slices.DeleteFunc(cards, func(c commands.SavedCard) bool { return k.card != nil && !k.card(c) }), errors.Join(err, k.err)
}

// TestSavedBeforeTheCustomerChanged: the merchant changed the customer of a session, so that its
// cards are in two shards. The node that saved a card had not applied the other shard, and answered
// that the card is saved: the cleaner, which knows all of them, does not delete it.
func TestSavedBeforeTheCustomerChanged(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	s := r.Service(nil)
	from := r.zen(s, instruments.SavedPerSession)
	shard := func(customer string) int {
		return domain.Shard(string(domain.PersonIDFor(secrets.PersonalKeyName(r.By.Account, customer, from.ID))), r.Store.Shards())
	}
	other := "yuna"
	for shard(other) == shard("zen") {
		other += "a"
	}
	_, err := s.ChangeSession(background, r.By, from.ID, func(in sessions.SessionInput) (sessions.SessionInput, error) {
		in.CustomerID = other
		return in, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Ahead.Store(int64(2 * time.Minute))
	behind := r.Service(nil)
	behind.Customers = &knows{Customers: r.Customers, card: func(c commands.SavedCard) bool { return c.Customer == other }}
	if refused := r.save(behind, from); refused != nil {
		t.Fatal(refused)
	}
	r.Cleaned(s)
	if good, all := r.good(from); good != instruments.SavedPerSession+1 || len(all) != good {
		t.Errorf("%d of %d cards are left after the cleaner", good, len(all))
	}
	if refused := r.save(s, from); refused == nil {
		t.Error("a node that knows all cards saves one more")
	}
}

// TestPaidCardWithoutACount: the CVV of a saved card is destroyed after the outcome of its payment,
// although no node can count the saved cards. Without a payment the card stays, so that the count
// is repeated.
func TestPaidCardWithoutACount(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	s := r.Service(nil)
	from := r.Opened(s, session.Fields{CustomerID: "customer-1"})
	paid, unused := r.EnteredIn(s, from, commandstest.ApprovedCard, true), r.EnteredIn(s, from, commandstest.ApprovedCard, true)
	s.Customers = &knows{Customers: r.Customers, err: errors.New("the views are damaged")}
	if p, err := r.PayAgain(s, paid); err != nil || p.Status() != payment.StatusAuthorized {
		t.Fatal(p.Status(), err)
	}
	r.Cleaned(s)
	for token, cvv := range map[domain.Token]string{paid: "", unused: "737"} {
		if card, err := r.Vault.Card(background, r.ref(token), r.Now()); err != nil || card.Number != commandstest.ApprovedCard || card.CVV != cvv {
			t.Errorf("the card has %d digits of CVV, expected %d: %v", len(card.CVV), len(cvv), err)
		}
	}
}
