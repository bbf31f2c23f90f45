package commands

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/dispute"
	"payledger/domain/instrument"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
	"payledger/eventstore/workers"
)

// Config has the dependencies and limits of the services.
type Config struct {
	Store      eventstore.Store
	Secrets    *secrets.Store
	Processors processor.Port
	// Connected reports whether a processor has an address in this service; nil: all have.
	Connected func(processor.Name) bool
	// Unfit gets each answer of a processor that cannot be the answer to its request, with the
	// reason; nil: nobody does.
	Unfit func(name processor.Name, why string)
	// Account returns an account's newest known state.
	Account func(domain.AccountID) (account.State, bool)
	// NotifyURL returns the URL for a processor's notifications; nil for none.
	NotifyURL func(processor.Name) string
	// ReturnURL returns the URL to which a processor sends the customer after an action on a page
	// of its own; nil for none.
	ReturnURL func() string
	// Disputes lists dispute notifications, so that lost ones are found; nil disables sweeps.
	Disputes processor.Disputes
	// PaymentAccount returns the account of a payment; false if this node does not know the
	// payment.
	PaymentAccount func(context.Context, domain.PaymentID) (domain.AccountID, bool, error)
	// DisputesBesideRefund returns the disputes of a payment that are open or lost (D22.2), with
	// all that any node recorded before the call.
	DisputesBesideRefund func(context.Context, domain.AccountID, domain.PaymentID) ([]dispute.State, error)
	Customers            Customers
	PaymentTimeout       time.Duration // how long a caller waits for an outcome (§8: 90 s)
	ActionTimeout        time.Duration // how long the customer may take for an action (D7)
	// Everywhere returns when every node that serves has applied the log up to a position, an
	// address for each shard; nil: there is one node.
	Everywhere     func(ctx context.Context, position []uint64) error
	ClientTokenTTL time.Duration // life of a client token and of the single-use tokens made with it (D4)
	Random         io.Reader
	Logger         zerolog.Logger
}

// Customers finds what an account has of a customer, for erasures and limits.
type Customers interface {
	// CustomerSessions returns the client sessions of a customer: those that name the customer or
	// did so earlier, and those in which the customer paid or entered a card that was vaulted.
	// known reports whether there is a session, a payment or a vaulted instrument of the customer.
	// The answer has everything that was recorded before the call.
	CustomerSessions(ctx context.Context, account domain.AccountID, customer string) (sessions []domain.LinkedSession, known bool, err error)
	// Instruments returns the instruments that were ever vaulted for a customer, in no order.
	Instruments(ctx context.Context, account domain.AccountID, customer string) ([]instrument.State, error)
	// SavedCards returns cards that were saved as they were entered, deleted ones included, in no
	// order.
	SavedCards(ctx context.Context, of SavedCards) ([]SavedCard, error)
}

// SavedCards selects the cards that were saved in a client session, and those that were saved for a
// customer after a time.
type SavedCards struct {
	Account  domain.AccountID
	Session  domain.SessionID
	Customer string
	After    time.Time
	Shard    int // the answer has everything that was recorded there before the call. -1: what this node knows is enough
}

// SavedCard is a card that was saved as it was entered.
type SavedCard struct {
	Token    domain.Token
	Session  domain.SessionID
	Customer string
	At       time.Time
}

// Base is the part that all services share: their dependencies and their shutdown.
type Base struct {
	Config
	Log      *eventstore.Repositories
	Life     context.Context // ends with Close: operations in flight stop, and the next start recovers them
	Draining <-chan struct{} // closed by Drain

	stop    context.CancelFunc
	drain   func()
	mu      sync.RWMutex // Go and Close exclude each other
	closed  bool
	workers *workers.Workers
}

// NewBase returns a Base. Close ends it.
func NewBase(c Config) *Base {
	life, stop := context.WithCancel(context.Background())
	draining := make(chan struct{})
	return &Base{
		Config: c, Log: eventstore.NewRepositories(c.Store), Life: life, Draining: draining,
		stop: stop, drain: sync.OnceFunc(func() { close(draining) }), workers: workers.New(),
	}
}

// Go starts a job in the background. A job must return soon after Life is cancelled. After Close,
// Go runs the job itself.
func (b *Base) Go(job func()) {
	b.mu.RLock()
	if b.closed {
		b.mu.RUnlock()
		job()
		return
	}
	defer b.mu.RUnlock()
	b.workers.Start(job)
}

// Drain answers all waiting callers as at the payment timeout (I1: SIGTERM). Their operations
// continue until Close.
func (b *Base) Drain() { b.drain() }

// Close ends the background work. Package pending finds the operations without an outcome at the
// next start.
func (b *Base) Close() {
	b.drain()
	b.stop()
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.workers.Close()
}

// Merchant returns the caller's account. It refuses an unknown account.
func (b *Base) Merchant(by Caller) (account.State, error) {
	merchant, known := b.Account(by.Account)
	if !known {
		return merchant, domain.Refuse(domain.KindUnauthorized, domain.ReasonUnauthorized, "The account is not known.")
	}
	return merchant, nil
}

// CheckActor returns an error if the caller's API key was revoked, or the user removed, or the
// user's session ended, while the request ran. A request that has waited calls it before it records
// something.
func (b *Base) CheckActor(ctx context.Context, by Caller) error {
	tip, err := b.Log.Accounts.Load(ctx, by.Account, by.Account, eventstore.Latest)
	if err != nil {
		return err
	}
	return tip.State.CheckActor(by.Actor, by.UserSession, b.Store.Now())
}

// Random16 returns the random bytes of an id.
func (b *Base) Random16() (bytes [16]byte, err error) {
	_, err = io.ReadFull(b.Random, bytes[:])
	return bytes, err
}
