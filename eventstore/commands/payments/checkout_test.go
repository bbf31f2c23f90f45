package payments_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/seedtest"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/commands/sessions"
)

// tab pays in the browser.
func (r *rig) tab(s *service.Service, from session.State, token domain.Token) (payment.State, error) {
	return s.CreatePayment(background, r.By, payments.PaymentInput{Token: token, Session: from.ID})
}

// paidOnce fails the test unless the tokens have exactly one payment, and returns it. Every refusal
// must be a PaymentError, and a refusal that names a payment must name this one.
func (r *rig) paidOnce(tokens []domain.Token, refusals ...error) payment.State {
	r.T.Helper()
	var made []payment.State
	for _, token := range tokens {
		id := domain.PaymentIDForToken(r.By.Account, token)
		if !r.Payment(id).Exists() {
			if n := r.Operations(id); n != 0 {
				r.T.Errorf("%d operations of no payment", n)
			}
			continue
		}
		if p := r.Settled(id); !p.EndedUnpaid() {
			made = append(made, p)
			r.Audit(id)
		}
	}
	if len(made) != 1 {
		r.T.Fatalf("%d payments of one session", len(made))
	}
	for _, err := range refusals {
		var e *domain.Error
		if err == nil {
			continue
		}
		if !errors.As(err, &e) || e.Reason != domain.ReasonPayment || e.Payment != "" && e.Payment != made[0].ID {
			r.T.Errorf("paid %s; refused %v, naming %s", made[0].ID, err, e.Payment)
		}
	}
	return made[0]
}

// TestTwoTabs: two tabs of a session pay with two cards. Any effect of one payment fails or takes
// effect, with and without the end of its process, while another node receives the other payment:
// one of them is created, and the session does not stay without (D12, §2.2).
func TestTwoTabs(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	healthy := r.NewNode(t, time.Minute, nil)
	for i, e := range []string{"session.payment_started", "instrument.used", "payment.created", commandstest.Authorize, "payment.authorized"} {
		for j, w := range commandstest.AppendModes {
			if e == commandstest.Authorize && w == commandstest.Refuses || seedtest.Sampled() && (i+j)%3 > 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s %s", e, w), func(t *testing.T) {
				t.Parallel()
				r.with(t).tabsThrough(healthy.Service, commandstest.NewFault(e, w))
			})
		}
	}
}

func (r *rig) tabsThrough(healthy *service.Service, f *commandstest.Fault) {
	r.T.Helper()
	from := r.Opened(healthy, session.Fields{})
	tokens := []domain.Token{r.TokenIn(healthy, from, commandstest.ApprovedCard), r.TokenIn(healthy, from, commandstest.ApprovedCard)}
	n := r.NewNode(r.T, time.Minute, f)
	r.T.Cleanup(func() { commandstest.CloseOnce(f.Resume) })
	given := n.UntilFault(func() error { _, err := r.tab(n.Service, from, tokens[0]); return err })
	if f.Mode.Ends() {
		n.Kill()
		<-given
	}
	_, second := r.tab(healthy, from, tokens[1])
	commandstest.CloseOnce(f.Resume)
	var first error
	if !f.Mode.Ends() {
		if first = <-given; domain.ReasonOf(first) == domain.ReasonServiceUnavailable && f.Mode == commandstest.Refuses {
			first = nil // and the other one is made
		}
	}
	id := domain.PaymentIDForToken(r.By.Account, tokens[0])
	if err := healthy.Recover(background, r.By.Account, id); err != nil {
		r.T.Fatal(err)
	}
	paid := r.paidOnce(tokens, first, second)
	for _, token := range tokens { // the repeats
		_, err := r.tab(healthy, from, token)
		var e *domain.Error
		if !errors.As(err, &e) || e.Reason != domain.ReasonPayment || e.Payment != paid.ID {
			r.T.Errorf("the repeat: %v", err)
		}
	}
	r.paidOnce(tokens)
}

// TestGivenUpForAnother makes a payment on one node while another node gives it up. The first of
// the two counts.
func TestGivenUpForAnother(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	healthy := r.NewNode(t, time.Minute, nil)
	for _, w := range commandstest.AppendModes {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			r := r.with(t)
			from := r.Opened(healthy.Service, session.Fields{})
			tokens := []domain.Token{r.TokenIn(healthy.Service, from, commandstest.ApprovedCard), r.TokenIn(healthy.Service, from, commandstest.ApprovedCard), r.TokenIn(healthy.Service, from, commandstest.ApprovedCard)}
			r.Dies("payment.created", commandstest.CrashBefore, func(n *commandstest.Node) error { _, err := r.tab(n.Service, from, tokens[0]); return err })
			f := commandstest.NewFault("payment.key_claimed", w)
			n := r.NewNode(t, time.Minute, f)
			given := n.UntilFault(func() error { _, err := r.tab(n.Service, from, tokens[1]); return err })
			if w.Ends() {
				n.Kill()
			}
			_, first := r.tab(healthy.Service, from, tokens[0]) // its repeat
			commandstest.CloseOnce(f.Resume)
			second := <-given
			if w.Ends() || w == commandstest.Refuses {
				second = nil
			}
			_, third := r.tab(healthy.Service, from, tokens[2])
			r.paidOnce(tokens, first, second, third)
		})
	}
}

// TestManyTabs: tabs on two nodes pay one session at the same moment, with cards of which some are
// declined: one payment lives (D12).
func TestManyTabs(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	nodes := r.TwoNodes()
	const tabs = 6
	sessions := 6
	if seedtest.Sampled() {
		sessions = 2
	}
	var all sync.WaitGroup
	for range sessions {
		from := r.Opened(nodes[0].Service, session.Fields{})
		tokens, errs := make([]domain.Token, tabs), make([]error, tabs)
		for i := range tokens {
			tokens[i] = r.TokenIn(nodes[0].Service, from, []string{commandstest.ApprovedCard, commandstest.ApprovedCard, "4000000000000002"}[i%3])
		}
		all.Go(func() {
			var clicks sync.WaitGroup
			for i, token := range tokens {
				clicks.Go(func() { _, errs[i] = r.tab(nodes[i%2].Service, from, token) })
			}
			clicks.Wait()
			last := r.TokenIn(nodes[0].Service, from, commandstest.ApprovedCard)
			_, err := r.tab(nodes[1].Service, from, last)
			for i, err := range errs {
				if err != nil && domain.ReasonOf(err) != domain.ReasonPayment {
					r.T.Errorf("tab %d: %v", i, err)
				}
			}
			r.paidOnce(append(tokens, last), err)
		})
	}
	all.Wait()
}

// TestRepeatAfterVaulting: the repeat of a browser's payment that vaulted its token, so that it may
// pay again, does not (D5, D12).
func TestRepeatAfterVaulting(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	from := r.Opened(s, session.Fields{CustomerID: "customer-1", Method: session.Method{VaultOnSuccess: new(true)}})
	token := r.TokenIn(s, from, commandstest.ApprovedCard)
	paid, err := r.tab(s, from, token)
	commandstest.HasStatus(t, paid, err, payment.StatusAuthorized)
	_, err = r.tab(s, from, token)
	var e *domain.Error
	if !r.Instrument(token).Vaulted() || !errors.As(err, &e) || e.Payment != paid.ID {
		t.Errorf("%+v: %v", r.Instrument(token), err)
	}
}

// TestCardNeededBehind: a node that lags behind the use of a token does not give its card up when
// the token expires: the payment may still be sent with it.
func TestCardNeededBehind(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	s := r.Service(nil)
	token := r.TokenIn(s, r.Opened(s, session.Fields{}), commandstest.ChallengeCard)
	behind := r.NewNodeOn(t, &commandstest.FaultyConn{Behind: true}, time.Minute)
	waits, err := s.CreatePayment(background, r.By, payments.PaymentInput{Token: token})
	if err != nil || waits.RequiredAction() == nil {
		t.Fatal(err)
	}
	expires := r.Now()
	r.Ahead.Store(int64(time.Minute))
	for name, node := range map[string]*service.Service{"ahead": s, "behind": behind.Service} {
		until, err := node.CardNeeded(background, r.By.Account, token, expires)
		if err != nil || !until.After(r.Now()) {
			t.Errorf("the node that is %s needs the card until %s, and now is %s: %v", name, until, r.Now(), err)
		}
	}
}

// TestReplicaBehind: a payment that is first decided on a replica that lags behind the token, or
// its vaulting, has the id of its repeat (D12).
func TestReplicaBehind(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	n := r.NewNode(t, time.Minute, nil)
	behind := r.NewNodeOn(t, &commandstest.FaultyConn{Behind: true}, time.Minute)
	var from session.State
	var token domain.Token
	for ahead, tries := true, 0; ahead; tries++ { // its own work may read the end of the log meanwhile
		from = r.Opened(n.Service, session.Fields{CustomerID: "customer-1"})
		token = r.EnteredIn(n.Service, from, commandstest.ApprovedCard, true)
		tip, err := eventstore.NewRepositories(behind.Store).Instruments.Load(background, r.By.Account, token, eventstore.Applied)
		if ahead = tip.Recorded != nil; err != nil || tries > 20 {
			t.Fatalf("the node is not behind: %+v, %v", tip, err)
		}
	}
	paid, err := r.tab(behind.Service, from, token)
	commandstest.HasStatus(t, paid, err, payment.StatusAuthorized)
	_, err = r.tab(n.Service, from, token)
	var e *domain.Error
	if paid.ID != domain.PaymentIDForSession(r.By.Account, from.ID, token) || !errors.As(err, &e) || e.Payment != paid.ID {
		t.Errorf("%s, then %v", paid.ID, err)
	}
}

// TestChangedWhilePaying: a session that is changed after the payment was assembled, and before it
// is the session's payment, is paid with its new amount, and not at all if the customer saw the
// other one (D12).
func TestChangedWhilePaying(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, shown := range map[string]*domain.Price{"shown": {Amount: 1000, Currency: "EUR"}, "not shown": nil} {
		var change atomic.Pointer[func()]
		s := service.New(commands.Config{
			Store: r.Store, Secrets: r.Vault, Processors: r.Sim, PaymentTimeout: commandstest.PaymentTimeout, ActionTimeout: time.Hour, ClientTokenTTL: time.Hour,
			Random: rand.Reader, Logger: zerolog.Nop(), Customers: r.Customers,
			Account: func(id domain.AccountID) (account.State, bool) {
				if now := change.Swap(nil); now != nil {
					(*now)()
				}
				return r.Merchant(id)
			},
		})
		t.Cleanup(s.Close)
		from := r.Opened(s, session.Fields{OrderID: "order", Currency: "EUR", Amount: commandstest.Amount(1000)})
		token := r.TokenIn(s, from, commandstest.ApprovedCard)
		change.Store(new(func() {
			if _, err := s.ChangeSession(background, r.By, from.ID, func(in sessions.SessionInput) (sessions.SessionInput, error) {
				in.Amount = commandstest.Amount(2500)
				return in, nil
			}); err != nil {
				t.Error(err)
			}
		}))
		paid, err := s.CreatePayment(background, r.By, payments.PaymentInput{Token: token, Session: from.ID, Shown: shown})
		switch {
		case shown != nil && domain.ReasonOf(err) == domain.ReasonAmountChanged:
		case shown == nil && err == nil && paid.Amount == 2500:
		default:
			t.Errorf("%s: %d, %v", name, paid.Amount, err)
		}
	}
}
