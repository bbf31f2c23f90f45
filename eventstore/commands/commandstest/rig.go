package commandstest

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
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts/accountstest"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
	"payledger/processorsim/adapter"
	"payledger/processorsim/simulator"
)

// Rig is a real store, vault and simulator; the service on top can be started and stopped as
// processes are.
type Rig struct {
	T      *testing.T
	Server *embedded.Server
	Store  *engine.Store
	Vault  *secrets.Store
	Sim    *adapter.Adapter
	By     commands.Caller
	Ahead  atomic.Int64 // how far the clock is ahead of the real one

	Customers *Customers
}

// PaymentTimeout is the payment timeout of the rig's services.
const PaymentTimeout = 20 * time.Second

// NewRig makes a rig whose store is the log's only writer.
func NewRig(t *testing.T) *Rig { return NewRigFor(t, true) }

// NewRigFor makes a rig. Its store is the log's only writer, or several nodes share the log.
func NewRigFor(t *testing.T, soleWriter bool) *Rig {
	t.Helper()
	dir := t.TempDir()
	made := accountstest.Initialized(t, dir)
	r := &Rig{T: t, Server: eventstoretest.Server(t, dir)}
	r.Customers = &Customers{rig: r}
	config := eventstoretest.Config(r.Server)
	config.SoleWriter, config.Now = soleWriter, r.Now
	r.Store = eventstoretest.OpenOn(t, config)
	r.Vault = eventstoretest.Secrets(t, r.Store)
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
	if r.Sim, err = adapter.New(web.URL, nil); err != nil {
		t.Fatal(err)
	}
	r.By = commands.Caller{Account: made.AccountID, Actor: "test", RequestID: "request"}
	return r
}

// With is the rig as a part of the test sees it.
func (r *Rig) With(t *testing.T) *Rig {
	return &Rig{T: t, Server: r.Server, Store: r.Store, Vault: r.Vault, Sim: r.Sim, By: r.By, Customers: r.Customers}
}

// Now is the clock of all parts.
func (r *Rig) Now() time.Time { return time.Now().Add(time.Duration(r.Ahead.Load())) }

// Service starts a service over the given way to the processors (nil: the simulator).
func (r *Rig) Service(port processor.Port) *service.Service {
	r.T.Helper()
	if port == nil {
		port = r.Sim
	}
	s := service.New(commands.Config{
		Store: r.Store, Secrets: r.Vault, Processors: port, PaymentTimeout: PaymentTimeout, ActionTimeout: time.Hour, ClientTokenTTL: time.Hour,
		Random: rand.Reader, Logger: zerolog.Nop(), Customers: r.Customers,
		PaymentAccount: func(context.Context, domain.PaymentID) (domain.AccountID, bool, error) {
			return r.By.Account, true, nil
		},
		Account: func(id domain.AccountID) (account.State, bool) {
			tip, err := eventstore.NewRepositories(r.Store).Accounts.Load(context.Background(), id, id, eventstore.Applied)
			return tip.State, err == nil && tip.State.Exists()
		},
	})
	r.T.Cleanup(s.Close)
	return s
}

// Merchant reads the account at the log.
func (r *Rig) Merchant(id domain.AccountID) (account.State, bool) {
	tip, err := eventstore.NewRepositories(r.Store).Accounts.Load(context.Background(), id, id, eventstore.Latest)
	return tip.State, err == nil && tip.State.Exists()
}
