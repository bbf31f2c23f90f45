package commands

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
)

// Config has the dependencies and limits of a Service.
type Config struct {
	Store      *eventstore.Store
	Secrets    *secrets.Store
	Processors processor.Port
	// Account returns an account's newest known state.
	Account func(domain.AccountID) (account.State, bool)
	// NotifyURL returns the URL for a processor's notifications; nil for none.
	NotifyURL func(processor.Name) string
	// Disputes lists dispute notifications, so that lost ones are found; nil disables sweeps.
	Disputes processor.Disputes
	// PaymentAccount returns the account of a payment; false if this node does not know the payment.
	PaymentAccount func(context.Context, domain.PaymentID) (domain.AccountID, bool, error)
	PaymentTimeout time.Duration // how long a caller waits for an outcome (§8: 90 s)
	ActionTimeout  time.Duration // how long the customer may take for an action (D7)
	ClientTokenTTL time.Duration // life of a client token and of the single-use tokens made with it (D4)
	Random         io.Reader
	Logger         zerolog.Logger
}

// Service carries out commands. It is safe for concurrent use.
type Service struct {
	Config
	log            eventstore.Repositories
	ctx            context.Context // ends with Close: operations in flight stop, and the next start recovers them
	stop           context.CancelFunc
	running        sync.WaitGroup
	workers        *workers
	inFlight       inFlightOperations
	turns          *turns        // to change a payment
	drain          chan struct{} // closed by Drain
	drained        sync.Once
	spent          chan secrets.CardRef // cards to destroy
	pendingInboxes pendingInboxes       // notifications that wait
	sweeps         sweeps
}

// New returns a running Service. Close ends it.
func New(c Config) *Service {
	ctx, stop := context.WithCancel(context.Background())
	s := &Service{
		Config: c, log: c.Store.Repositories(), ctx: ctx, stop: stop, inFlight: newInFlightOperations(), turns: newTurns(),
		drain: make(chan struct{}), spent: make(chan secrets.CardRef, spentQueue),
	}
	s.workers = newWorkers(ctx.Done())
	s.running.Go(s.destroyCards)
	s.running.Go(s.keepAgenda)
	return s
}

// Drain answers all waiting callers as at the payment timeout (I1: SIGTERM). Their operations continue until Close.
func (s *Service) Drain() { s.drained.Do(func() { close(s.drain) }) }

// Close stops the operations in flight. Recover finds those without an outcome at the next start.
func (s *Service) Close() {
	s.Drain()
	s.stop()
	s.running.Wait()
	s.workers.wait()
}

// random16 returns the random bytes of an id.
func (s *Service) random16() (b [16]byte, err error) {
	_, err = io.ReadFull(s.Random, b[:])
	return b, err
}
