package commandstest

import (
	"context"
	"errors"
	"sync"

	"payledger/domain"
	"payledger/domain/processor"
)

// Effects of a command at a processor.
const (
	Authorize = "send authorize"
	LookUp    = "look up by reference"
)

// Port is the way of one process to the processors.
type Port struct {
	processor.Port
	fault *Fault

	mu     sync.Mutex
	dead   bool
	silent bool          // look-ups are not answered, until the fault's resume
	held   chan struct{} // not nil: an authorization's answer waits for it
	holds  chan struct{} // closed when it does
}

func (p *Port) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
}

// HoldBack holds the answers of authorizations back until the caller closes held. The port closes
// holds when it holds one.
func (p *Port) HoldBack() (held, holds chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held, p.holds = make(chan struct{}), make(chan struct{})
	return p.held, p.holds
}

// portState is what a Port does with calls now.
type portState struct {
	dead, silent bool
	held, holds  chan struct{}
}

func (p *Port) now() portState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return portState{p.dead, p.silent, p.held, p.holds}
}

// ErrLost is the error of a call without an answer.
var ErrLost = errors.Join(processor.ErrUnknown, ErrGone)

// Send carries one operation to its processor.
func (p *Port) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	if p.now().dead {
		return processor.Answer{}, ErrLost
	}
	if !p.fault.triggers("send " + string(op.Kind)) {
		return p.hold(ctx, op)
	}
	f := p.fault
	defer func() { CloseOnce(f.Hit) }()
	switch f.Mode {
	case LostBefore:
		return processor.Answer{}, ErrLost
	case Never:
		return p.hush(nil)
	case Late:
		_, err := p.Port.Send(ctx, op)
		return p.hush(err)
	case CrashBefore:
		return p.dies(ctx)
	case CrashAfter:
		if _, err := p.Port.Send(ctx, op); err != nil {
			return processor.Answer{}, err
		}
		return p.dies(ctx)
	case Overtaken, Left:
		CloseOnce(f.Hit)
		<-f.Resume
	case LostAfter:
		_, err := p.Port.Send(ctx, op)
		return processor.Answer{}, errors.Join(ErrLost, err)
	case Twice:
		if _, err := p.Port.Send(ctx, op); err != nil {
			return processor.Answer{}, err
		}
	}
	return p.hold(ctx, op)
}

// hush leaves all look-ups without an answer from now on.
func (p *Port) hush(err error) (processor.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = true
	return processor.Answer{}, errors.Join(ErrLost, err)
}

// dies ends the process where it is.
func (p *Port) dies(ctx context.Context) (processor.Answer, error) {
	p.cut()
	CloseOnce(p.fault.Hit)
	<-ctx.Done()
	return processor.Answer{}, ErrLost
}

// hold sends an operation, and holds an authorization's answer back while that is switched on.
func (p *Port) hold(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	answer, err := p.Port.Send(ctx, op)
	now := p.now()
	if now.held == nil || op.Kind != processor.Authorize {
		return answer, err
	}
	CloseOnce(now.holds)
	select {
	case <-now.held:
	case <-ctx.Done():
		return processor.Answer{}, ErrLost
	}
	return answer, err
}

// Lookup looks up the outcome of an operation.
func (p *Port) Lookup(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	now := p.now()
	if now.silent {
		select {
		case <-p.fault.Resume:
			now.silent = false
		default:
		}
	}
	if now.dead || now.silent {
		return processor.Lookup{}, ErrLost
	}
	return p.Port.Lookup(ctx, name, key)
}

// Fence makes a key refused.
func (p *Port) Fence(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	if p.now().dead {
		return processor.Lookup{}, ErrLost
	}
	return p.Port.Fence(ctx, name, key)
}

// ByReference returns all operations of a payment.
func (p *Port) ByReference(ctx context.Context, name processor.Name, reference domain.PaymentID) ([]processor.Record, error) {
	if p.now().dead {
		return nil, ErrLost
	}
	if !p.fault.triggers(LookUp) {
		return p.Port.ByReference(ctx, name, reference)
	}
	f := p.fault
	defer func() { CloseOnce(f.Hit) }()
	switch f.Mode {
	case LostBefore:
		return nil, ErrLost
	case LostAfter:
		_, err := p.Port.ByReference(ctx, name, reference)
		return nil, errors.Join(ErrLost, err)
	case CrashBefore, CrashAfter:
		_, err := p.dies(ctx)
		return nil, err
	case Overtaken, Left:
		CloseOnce(f.Hit)
		<-f.Resume
	}
	return p.Port.ByReference(ctx, name, reference)
}
