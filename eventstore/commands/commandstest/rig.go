package commandstest

import (
	"context"
	"crypto/rand"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts/accountstest"
	"payledger/eventstore/commands/service"
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
	Config engine.Config // of stores on the rig's log
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
func NewRig(t *testing.T) *Rig {
	t.Helper()
	dir := t.TempDir()
	made := accountstest.Initialized(t, dir)
	r := newRig(t, eventstoretest.Config(eventstoretest.Server(t, dir)))
	r.Vault = eventstoretest.Secrets(t, r.Store)
	r.By.Account = made.AccountID
	return r
}

// NewCluster makes a rig on a cluster. Its store is the node that owns all shards: the other nodes
// of the test hand it their events.
func NewCluster(t *testing.T) *Rig {
	t.Helper()
	r := newRig(t, eventstoretest.Cluster(t))
	eventstoretest.Own(t, r.Store)
	r.Vault = eventstoretest.Secrets(t, r.Store)
	r.By.Account = accountstest.Initialize(t, r.Store, r.Vault).AccountID
	return r
}

func newRig(t *testing.T, config engine.Config) *Rig {
	t.Helper()
	r := &Rig{T: t, Config: config, By: commands.Caller{Actor: "test", RequestID: "request"}}
	r.Customers, r.Config.Now = &Customers{rig: r}, r.Now
	r.Store = eventstoretest.OpenOn(t, r.Config)
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
	return r
}

// With is the rig as a part of the test sees it.
func (r *Rig) With(t *testing.T) *Rig {
	return &Rig{T: t, Config: r.Config, Store: r.Store, Vault: r.Vault, Sim: r.Sim, By: r.By, Customers: r.Customers}
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

// connect connects to the server of the log, or to the cluster.
func (r *Rig) connect() (*nats.Conn, error) {
	if r.Config.Server != nil {
		return r.Config.Server.Connect()
	}
	return r.Config.External.Connect()
}
