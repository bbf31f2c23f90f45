package service_test

import (
	"context"
	"crypto/rand"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts/accountstest"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/commands/sessions"
	"payledger/eventstore/embedded"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
	"payledger/processorsim/adapter"
	"payledger/processorsim/simulator"
)

// rig is a real store, vault and simulator; the service on top can be started and stopped as processes are.
type rig struct {
	t      *testing.T
	server *embedded.Server
	store  *eventstore.Store
	vault  *secrets.Store
	sim    *adapter.Adapter
	by     commands.Caller
	ahead  atomic.Int64 // how far the clock is ahead of the real one
}

const paymentTimeout = 20 * time.Second

func newRig(t *testing.T) *rig { return newRigFor(t, true) }

// newRigFor makes a rig. Its store is the log's only writer, or several nodes share the log.
func newRigFor(t *testing.T, soleWriter bool) *rig {
	t.Helper()
	dir := t.TempDir()
	made := accountstest.Initialized(t, dir)
	r := &rig{t: t, server: eventstoretest.Server(t, dir)}
	config := eventstoretest.Config(r.server)
	config.SoleWriter, config.Now = soleWriter, r.now
	r.store = eventstoretest.OpenOn(t, config)
	r.vault = eventstoretest.Secrets(t, r.store)
	sim, err := simulator.New(simulator.Config{Dir: t.TempDir(), Secret: []byte("secret")})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(sim.Handler())
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	if r.sim, err = adapter.New(web.URL, nil); err != nil {
		t.Fatal(err)
	}
	r.by = commands.Caller{Account: made.AccountID, Actor: "test", RequestID: "request"}
	return r
}

// with is the rig as a part of the test sees it.
func (r *rig) with(t *testing.T) *rig {
	return &rig{t: t, server: r.server, store: r.store, vault: r.vault, sim: r.sim, by: r.by}
}

// now is the clock of all parts.
func (r *rig) now() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }

// service starts a service over the given way to the processors (nil: the simulator).
func (r *rig) service(port processor.Port) *service.Service {
	r.t.Helper()
	if port == nil {
		port = r.sim
	}
	s := service.New(commands.Config{
		Store: r.store, Secrets: r.vault, Processors: port, PaymentTimeout: paymentTimeout, ActionTimeout: time.Hour, ClientTokenTTL: time.Hour,
		Random: rand.Reader, Logger: zerolog.Nop(),
		PaymentAccount: func(context.Context, domain.PaymentID) (domain.AccountID, bool, error) {
			return r.by.Account, true, nil
		},
		Account: func(id domain.AccountID) (account.State, bool) {
			tip, err := eventstore.NewRepositories(r.store).Accounts.Load(context.Background(), id, id, eventstore.AllowStale)
			return tip.State, err == nil && tip.State.Exists()
		},
	})
	r.t.Cleanup(s.Close)
	return s
}

// approved is a card that every processor approves (D13).
const approvedCard = "4111111111111111"

// token opens a session and tokenizes an approved card in it.
func (r *rig) token(s *service.Service) domain.Token { return r.tokenOf(s, approvedCard) }

// tokenOf opens a session for 25.00 EUR and tokenizes a card in it.
func (r *rig) tokenOf(s *service.Service, number string) domain.Token {
	r.t.Helper()
	amount := domain.Amount(2500)
	id, err := eventstore.NewUUID(s.Random)
	if err != nil {
		r.t.Fatal(err)
	}
	opened, err := s.CreateSession(context.Background(), r.by, domain.SessionID(id), sessions.SessionInput{
		Fields: session.Fields{OrderID: "order-1", Currency: "EUR", Amount: &amount},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	made, err := s.Tokenize(context.Background(), r.by, instruments.TokenizeInput{Session: opened.ID, Card: processor.Card{
		Number: number, CVV: "737", ExpirationMonth: "03", ExpirationYear: "2099", CardholderName: "Ada Lovelace",
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	return made.Token
}

// pay makes a payment of 25.00 EUR with a card.
func (r *rig) pay(s *service.Service, number string) payment.State {
	r.t.Helper()
	made, err := s.CreatePayment(context.Background(), r.by, payments.PaymentInput{
		Token: r.tokenOf(s, number), Method: session.Method{AuthorizationType: "ESTIMATED"},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

// payment reads a payment at the log.
func (r *rig) payment(id domain.PaymentID) payment.State {
	r.t.Helper()
	tip, err := eventstore.NewRepositories(r.store).Payments.Load(context.Background(), r.by.Account, id, eventstore.Latest)
	if err != nil {
		r.t.Fatal(err)
	}
	return tip.State
}

func (r *rig) instrument(token domain.Token) instrument.State {
	r.t.Helper()
	tip, err := eventstore.NewRepositories(r.store).Instruments.Load(context.Background(), r.by.Account, token, eventstore.AllowStale)
	if err != nil {
		r.t.Fatal(err)
	}
	return tip.State
}

// settled waits until the payment has its outcome.
func (r *rig) settled(id domain.PaymentID) payment.State {
	r.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); <-tick.C {
		if p := r.payment(id); p.Exists() && p.Status() != payment.StatusPending {
			return p
		}
	}
	r.t.Fatalf("payment %s has no outcome", id)
	return payment.State{}
}

// operations counts the payment's operations in the processors' books.
func (r *rig) operations(id domain.PaymentID) int {
	r.t.Helper()
	lines, err := r.sim.Books(context.Background(), adapter.Filter{Reference: id})
	if err != nil {
		r.t.Fatal(err)
	}
	return len(lines)
}

// audit compares a payment with the processors' books.
func (r *rig) audit(id domain.PaymentID) {
	r.t.Helper()
	lines, err := r.sim.Books(context.Background(), adapter.Filter{Reference: id})
	if err == nil {
		err = eventstoretest.Audit(r.payment(id), lines)
	}
	if err != nil {
		r.t.Error(err)
	}
}
