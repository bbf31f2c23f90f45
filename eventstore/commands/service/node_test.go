package service_test

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/eventstoretest"
)

// node is a process on the rig's log, with its own store, vault and service.
type node struct {
	*service.Service
	t     testing.TB
	store *eventstore.Store
	conn  *faultyConn
	port  *port
	ctx   context.Context // of its callers; ends with the process
	end   context.CancelFunc
}

// newNode starts a process. f is the fault of its connections to the log and to the processors; nil for none.
func (r *rig) newNode(t testing.TB, paymentTimeout time.Duration, f *fault) *node {
	t.Helper()
	return r.newNodeOn(t, &faultyConn{fault: f}, paymentTimeout)
}

// newNodeOn starts a process on a wire.
func (r *rig) newNodeOn(t testing.TB, w *faultyConn, paymentTimeout time.Duration) *node {
	t.Helper()
	n := &node{t: t, conn: w, port: &port{Port: r.sim, fault: w.fault}}
	n.ctx, n.end = context.WithCancel(background)
	config := eventstoretest.Config(r.server)
	config.Now = r.now
	config.Options, config.Lags = []nats.Option{n.conn.through}, w.behind
	n.store = eventstoretest.OpenOn(t, config)
	n.Service = service.New(commands.Config{
		Store: n.store, Secrets: eventstoretest.Secrets(t, n.store), Processors: n.port,
		PaymentTimeout: paymentTimeout, ActionTimeout: time.Hour, ClientTokenTTL: time.Hour, Random: rand.Reader, Logger: zerolog.Nop(),
		PaymentAccount: func(context.Context, domain.PaymentID) (domain.AccountID, bool, error) {
			return r.by.Account, true, nil
		},
		Account: func(id domain.AccountID) (account.State, bool) {
			tip, err := eventstore.NewRepositories(r.store).Accounts.Load(background, id, id, eventstore.AllowStale)
			return tip.State, err == nil && tip.State.Exists()
		},
	})
	t.Cleanup(n.Service.Close)
	return n
}

// untilFault runs a command, waits for the fault, and returns the command's result.
func (n *node) untilFault(command func() error) <-chan error {
	n.t.Helper()
	given := make(chan error, 1)
	go func() { given <- command() }()
	if !came(n.conn.fault.hit) {
		n.t.Fatal("the effect never came")
	}
	return given
}

// kill ends the process: nothing of it reaches the log or a processor any more.
func (n *node) kill() {
	n.conn.cut()
	n.port.cut()
	n.end()
	if err := n.store.Close(); err != nil { // before the service: running calls end at once
		n.t.Error(err)
	}
	n.Service.Close()
}

// port is the way of one process to the processors.
type port struct {
	processor.Port
	fault *fault

	mu     sync.Mutex
	dead   bool
	silent bool          // look-ups are not answered, until the fault's resume
	held   chan struct{} // not nil: an authorization's answer waits for it
	holds  chan struct{} // closed when it does
}

func (p *port) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
}

func (p *port) is() (dead, silent bool, held, holds chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead, p.silent, p.held, p.holds
}

var errLost = errors.Join(processor.ErrUnknown, errGone)

// Send carries one operation to its processor.
func (p *port) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	if dead, _, _, _ := p.is(); dead {
		return processor.Answer{}, errLost
	}
	if !p.fault.triggers("send " + string(op.Kind)) {
		return p.hold(ctx, op)
	}
	f := p.fault
	defer func() { closeOnce(f.hit) }()
	switch f.mode {
	case lostBefore:
		return processor.Answer{}, errLost
	case never:
		return p.hush(nil)
	case late:
		_, err := p.Port.Send(ctx, op)
		return p.hush(err)
	case crashBefore:
		return p.dies(ctx)
	case crashAfter:
		if _, err := p.Port.Send(ctx, op); err != nil {
			return processor.Answer{}, err
		}
		return p.dies(ctx)
	case overtaken, left:
		closeOnce(f.hit)
		<-f.resume
	case lostAfter:
		_, err := p.Port.Send(ctx, op)
		return processor.Answer{}, errors.Join(errLost, err)
	case twice:
		if _, err := p.Port.Send(ctx, op); err != nil {
			return processor.Answer{}, err
		}
	}
	return p.hold(ctx, op)
}

// hush leaves all questions without an answer from now on.
func (p *port) hush(err error) (processor.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = true
	return processor.Answer{}, errors.Join(errLost, err)
}

// dies ends the process where it is.
func (p *port) dies(ctx context.Context) (processor.Answer, error) {
	p.cut()
	closeOnce(p.fault.hit)
	<-ctx.Done()
	return processor.Answer{}, errLost
}

// hold sends an operation, and holds an authorization's answer back while that is switched on.
func (p *port) hold(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	answer, err := p.Port.Send(ctx, op)
	_, _, held, holds := p.is()
	if held == nil || op.Kind != processor.Authorize {
		return answer, err
	}
	closeOnce(holds)
	select {
	case <-held:
	case <-ctx.Done():
		return processor.Answer{}, errLost
	}
	return answer, err
}

// Lookup looks up the outcome of an operation.
func (p *port) Lookup(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	dead, silent, _, _ := p.is()
	if silent {
		select {
		case <-p.fault.resume:
			silent = false
		default:
		}
	}
	if dead || silent {
		return processor.Lookup{}, errLost
	}
	return p.Port.Lookup(ctx, name, key)
}

// Fence makes a key refused.
func (p *port) Fence(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	if dead, _, _, _ := p.is(); dead {
		return processor.Lookup{}, errLost
	}
	return p.Port.Fence(ctx, name, key)
}

// ByReference returns all operations of a payment.
func (p *port) ByReference(ctx context.Context, name processor.Name, reference domain.PaymentID) ([]processor.Record, error) {
	if dead, _, _, _ := p.is(); dead {
		return nil, errLost
	}
	if !p.fault.triggers(lookUp) {
		return p.Port.ByReference(ctx, name, reference)
	}
	f := p.fault
	defer func() { closeOnce(f.hit) }()
	switch f.mode {
	case lostBefore:
		return nil, errLost
	case lostAfter:
		_, err := p.Port.ByReference(ctx, name, reference)
		return nil, errors.Join(errLost, err)
	case crashBefore, crashAfter:
		_, err := p.dies(ctx)
		return nil, err
	case overtaken, left:
		closeOnce(f.hit)
		<-f.resume
	}
	return p.Port.ByReference(ctx, name, reference)
}

// closeOnce closes a channel that one goroutine alone closes, unless it did.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// finished reports whether the payment has no open operation.
func finished(p payment.State) bool {
	for _, op := range p.Operations {
		if op.State.Open() {
			return false
		}
	}
	return p.Exists()
}
