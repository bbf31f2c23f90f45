package commandstest

import (
	"cmp"
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

// Node is a process on the rig's cluster, with its own store, vault and service.
type Node struct {
	*service.Service
	t      testing.TB
	Store  *engine.Store
	Conn   *FaultyConn
	Port   *Port
	Ctx    context.Context    // of its callers; ends with the process
	HangUp context.CancelFunc // ends Ctx
}

// NewNode starts a process. f is the fault of its connections to the log and to the processors; nil
// for none.
func (r *Rig) NewNode(t testing.TB, paymentTimeout time.Duration, f *Fault) *Node {
	t.Helper()
	w := &FaultyConn{fault: f}
	if f != nil && f.effect == ReadCard {
		w.Patience = 300 * time.Millisecond
	}
	return r.NewNodeOn(t, w, paymentTimeout)
}

// NewNodeOn starts a process on a wire.
func (r *Rig) NewNodeOn(t testing.TB, w *FaultyConn, paymentTimeout time.Duration) *Node {
	t.Helper()
	w.log = r.Store
	n := &Node{t: t, Conn: w, Port: &Port{Port: r.Sim, fault: w.fault}}
	n.Ctx, n.HangUp = context.WithCancel(context.Background())
	config := r.Config
	config.Now, config.Options = r.Now, []nats.Option{nats.SetCustomDialer(n.Conn)}
	config.ReadTimeout = cmp.Or(w.Patience, config.ReadTimeout)
	n.Store = eventstoretest.OpenOn(t, config)
	n.Service = service.New(commands.Config{
		Store: &refusing{n.Store, w.fault}, Secrets: eventstoretest.Secrets(t, n.Store), Processors: n.Port,
		PaymentTimeout: paymentTimeout, ActionTimeout: time.Hour, ClientTokenTTL: time.Hour, Random: rand.Reader, Logger: zerolog.Nop(),
		Customers: r.Customers,
		PaymentAccount: func(context.Context, domain.PaymentID) (domain.AccountID, bool, error) {
			return r.By.Account, true, nil
		},
		Account: func(id domain.AccountID) (account.State, bool) {
			tip, err := eventstore.NewRepositories(r.Store).Accounts.Load(context.Background(), id, id, eventstore.Applied)
			return tip.State, err == nil && tip.State.Exists()
		},
	})
	t.Cleanup(n.Service.Close)
	return n
}

// UntilFault runs a command, waits for the fault, and returns the command's result.
func (n *Node) UntilFault(command func() error) <-chan error {
	n.t.Helper()
	given := make(chan error, 1)
	go func() { given <- command() }()
	if !Came(n.Conn.fault.Hit) {
		n.t.Fatal("the effect never came")
	}
	return given
}

// Kill ends the process: nothing of it reaches the log or a processor any more.
func (n *Node) Kill() {
	n.Conn.Cut()
	n.Port.cut()
	n.HangUp()
	if err := n.Store.Close(); err != nil { // before the service: running calls end at once
		n.t.Error(err)
	}
	n.Service.Close()
}

// Dies runs a request on a node that ends at the given fault.
func (r *Rig) Dies(on string, w FailureMode, request func(*Node) error) {
	r.T.Helper()
	n := r.NewNode(r.T, time.Minute, NewFault(on, w))
	given := n.UntilFault(func() error { return request(n) })
	n.Kill()
	<-given
}
