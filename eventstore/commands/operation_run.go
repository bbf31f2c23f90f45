package commands

import (
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/due"
)

// operation is one later operation on a payment: what a caller asks for, however it is decided.
type operation struct {
	payment  domain.PaymentID
	kind     processor.Kind
	key      string   // idempotency key, "" for none
	deadline due.Time // of the caller's patience; zero: the payment timeout from now
	decide   func(payment.State, payment.Request) (payment.Event, error)
}

// runOperation carries an operation out (D7, D9): its key is claimed, the request is recorded as soon as nothing
// else runs, the processor is called, the outcome is recorded. It gives the payment before the request and
// as it stands in the end, at the latest when the payment timeout is over.
func (s *Service) runOperation(ctx context.Context, by Caller, o operation) (before, after payment.State, err error) {
	deadline := o.deadline
	if deadline == (due.Time{}) {
		deadline = s.fromNow()
	}
	pass, after, err := s.turn(ctx, by, o, deadline)
	if err != nil {
		return before, after, err
	}
	defer pass()
	if after, err = s.waitIdle(ctx, by, o, deadline); err != nil {
		return before, after, err
	}
	recording := context.WithoutCancel(ctx) // what may have been recorded is carried out, whether or not the caller is still there
	if err := s.claimKey(recording, by, o); err != nil {
		return before, after, err
	}
	var tip eventstore.Tip[payment.State]
	for {
		tip, before, err = s.appendRequest(recording, by, o)
		if !errors.Is(err, payment.ErrRunning) {
			break
		}
		if err := s.waitForRunning(ctx, tip.State, deadline); err != nil {
			return before, after, err
		}
	}
	if err != nil {
		return before, tip.State, err
	}
	if !tip.Appended {
		return before, tip.State, nil
	}
	if f := s.launchRequested(tip, deadline); f != nil {
		return before, s.await(ctx, f, deadline), nil
	}
	return before, tip.State, refusal(tip)
}

// waitIdle waits until nothing else runs on the payment, and refuses, before anything is recorded, what it then
// refuses: a request that is refused by status does not use its key, whether or not it waited (D9).
func (s *Service) waitIdle(ctx context.Context, by Caller, o operation, deadline due.Time) (payment.State, error) {
	for {
		state, err := s.precheck(ctx, by, o)
		if !errors.Is(err, payment.ErrRunning) {
			return state, err
		}
		if err := s.waitForRunning(ctx, state, deadline); err != nil {
			return state, err
		}
	}
}

// precheck gives the payment as it stands, and whether it refuses; the key before the status (D3).
func (s *Service) precheck(ctx context.Context, by Caller, o operation) (payment.State, error) {
	if err := s.checkKey(ctx, by, o); err != nil {
		return payment.State{}, err
	}
	key := eventstore.Payments.Key(by.Account, string(o.payment))
	tip, err := eventstore.Load(ctx, s.Store, eventstore.Payments, key, eventstore.AllowStale)
	if err != nil {
		return tip.State, err
	}
	try := payment.Request{At: s.Store.Now(), IdempotencyKey: o.key}
	if _, err = o.decide(tip.State, try); err == nil || errors.Is(err, payment.ErrRunning) || errors.Is(err, payment.ErrProcessing) {
		return tip.State, err
	}
	if tip, err = eventstore.Load(ctx, s.Store, eventstore.Payments, key, eventstore.Latest); err != nil {
		return tip.State, err
	}
	_, err = o.decide(tip.State, try)
	return tip.State, err
}

// appendRequest decides once and records the request.
func (s *Service) appendRequest(ctx context.Context, by Caller, o operation) (tip eventstore.Tip[payment.State], before payment.State, err error) {
	meta, err := s.request(by)
	if err != nil {
		return tip, before, err
	}
	meta.GivesBack = o.kind == processor.Refund || o.kind == processor.Void
	tip, err = eventstore.Execute(ctx, s.Store, eventstore.Payments, eventstore.Payments.Key(by.Account, string(o.payment)), meta,
		func(state payment.State) (payment.Event, error) {
			before = state
			return o.decide(state, payment.Request{At: meta.At, EventID: meta.EventID, IdempotencyKey: o.key})
		})
	if errors.Is(err, eventstore.ErrTooLarge) {
		err = before.Full()
	}
	return tip, before, err
}

// refusal is what the caller is answered whose attempt was recorded as one that our books refuse (D7).
func refusal(tip eventstore.Tip[payment.State]) error {
	event, err := eventstore.Payments.Event(tip.Recorded)
	if err != nil {
		return err
	}
	if refused, is := event.(interface{ Refusal(payment.State) error }); is {
		return refused.Refusal(tip.State)
	}
	return nil
}

// lookAgain is how often the log is looked at while another node's operation is waited for.
const lookAgain = 50 * time.Millisecond

// waitForRunning returns when an operation of the payment may have got further; at the deadline it refuses
// (D7).
func (s *Service) waitForRunning(ctx context.Context, state payment.State, deadline due.Time) error {
	var left <-chan struct{}
	for _, op := range state.Operations {
		if f := s.inFlight.find(state.OperationKey(op.Revision)); f != nil && op.State.Open() {
			left = f.ended
		}
	}
	defer aside(ctx)()
	again := time.NewTimer(lookAgain)
	defer again.Stop()
	select {
	case <-left:
	case <-again.C:
	case <-ctx.Done():
		return domain.Unavailable(ctx.Err())
	case <-s.drain:
		return busy(state)
	}
	if deadline.Over(s.Store.Now()) {
		return busy(state)
	}
	return nil
}

func busy(state payment.State) error {
	err := domain.Refuse(domain.KindConflict, domain.ReasonConcurrentModification,
		"Another operation of the payment has no outcome yet.")
	err.Recovery = "It is safe to repeat the request later."
	err.Payment, err.Status = state.ID, string(state.Status())
	return err
}
