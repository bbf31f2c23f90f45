package payments

import (
	"cmp"
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/due"
)

// operation is a caller's request for an operation on an existing payment.
type operation struct {
	payment  domain.PaymentID
	kind     processor.Kind
	key      string   // idempotency key; "" for none
	deadline due.Time // of the caller; zero: one payment timeout from now
	decide   func(payment.State, payment.Request) (payment.Event, error)
}

// runOperation records the request as soon as no other operation runs on the payment, calls the
// processor, and records the outcome (D7, D9). It returns the payment before the request, and after
// the outcome or the payment timeout. A caller whose API key or session ended while the call waited
// is refused (D20).
func (s *Payments) runOperation(ctx context.Context, by commands.Caller, o operation) (before, after payment.State, err error) {
	if o.deadline == (due.Time{}) {
		o.deadline = s.fromNow()
	}
	if by.Seen != 0 {
		o.decide = unchangedSince(by.Seen, o.decide)
	}
	unlock, after, err := s.lock(ctx, by, o)
	if err != nil {
		return before, after, err
	}
	defer unlock()
	tip, before, err := s.appendRequest(ctx, by, o)
	for errors.Is(err, payment.ErrRunning) {
		if err = s.waitForRunning(ctx, tip.State, o.deadline); err == nil {
			err = s.CheckActor(ctx, by)
		}
		if err == nil {
			tip, before, err = s.appendRequest(ctx, by, o)
		}
	}
	if err != nil || !tip.Appended {
		return before, tip.State, err
	}
	if f := s.launchRequested(tip, o.deadline); f != nil {
		return before, s.await(ctx, f, o.deadline), nil
	}
	return before, tip.State, refusal(tip)
}

// unchangedSince wraps decide: it refuses if the payment's revision differs from seen. The error of
// a used key is returned first (D3).
func unchangedSince(seen uint64, decide func(payment.State, payment.Request) (payment.Event, error)) func(payment.State, payment.Request) (payment.Event, error) {
	return func(state payment.State, r payment.Request) (payment.Event, error) {
		event, err := decide(state, r)
		if state.Exists() && state.Revision != seen && domain.ReasonOf(err) != domain.ReasonIdempotencyKeyExists {
			return nil, conflictOn(state, domain.ReasonConcurrentModification, "The payment has changed since its caller read it.", "Read the payment and decide again.")
		}
		return event, err
	}
}

// appendRequest claims the idempotency key, then appends the request. A refused request claims no
// key (D9).
func (s *Payments) appendRequest(ctx context.Context, by commands.Caller, o operation) (tip eventstore.Tip[payment.State], before payment.State, err error) {
	meta, err := s.RequestMeta(by)
	if err != nil {
		return tip, before, err
	}
	meta.GivesBack = o.kind == processor.Refund || o.kind == processor.Void
	request := payment.Request{At: meta.At, EventID: meta.EventID, IdempotencyKey: o.key}
	tip, err = s.accepting(ctx, by, o, request)
	before = tip.State
	if err != nil {
		return tip, before, err
	}
	recording := context.WithoutCancel(ctx) // the work continues even if the caller disconnects
	// Commit point: the first record, the claim or the request. After a crash Recover continues a
	// recorded request.
	if err = s.claimKey(recording, by, o); err == nil {
		tip, err = s.Log.Payments.ExecuteFrom(recording, tip, meta, func(state payment.State) (payment.Event, error) {
			before = state
			return o.decide(state, request)
		})
	}
	if errors.Is(err, eventstore.ErrTooLarge) {
		err = before.Full()
	}
	s.noteDoubt(by.Account, o.payment, err)
	return tip, before, err
}

// accepting returns the payment, and the error with which the operation would be refused now; that
// the key belongs to another payment comes first (D3). It records nothing. An accepted operation
// may rest on an old state: an append on it is refused.
func (s *Payments) accepting(ctx context.Context, by commands.Caller, o operation, request payment.Request) (tip eventstore.Tip[payment.State], err error) {
	for _, consistency := range []eventstore.Consistency{eventstore.Applied, eventstore.Latest} {
		if tip, err = s.Log.Payments.Load(ctx, by.Account, o.payment, consistency); err != nil {
			return tip, err
		}
		if _, err = o.decide(tip.State, request); err == nil {
			return tip, nil
		}
	}
	if tip.State.Exists() {
		err = cmp.Or(s.checkKey(ctx, by, o), err)
	}
	return tip, err
}

// precheck is accepting for a request that no meta exists for yet, and with a refusal of the key
// even if the operation would be accepted.
func (s *Payments) precheck(ctx context.Context, by commands.Caller, o operation) (payment.State, error) {
	tip, err := s.accepting(ctx, by, o, payment.Request{At: s.Store.Now(), IdempotencyKey: o.key})
	if err == nil {
		err = s.checkKey(ctx, by, o)
	}
	return tip.State, err
}

// refusal returns the error for a request that was recorded as refused by our own rules (D7).
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

// rereadInterval is the interval at which the log is read while another operation of the payment
// runs.
const rereadInterval = 50 * time.Millisecond

// waitForRunning returns nil when the caller should decide again; after the deadline
// ConcurrentModification (D7).
func (s *Payments) waitForRunning(ctx context.Context, state payment.State, deadline due.Time) error {
	var operationEnded <-chan struct{}
	for _, op := range state.Operations {
		if f := s.inFlight.find(state.OperationKey(op.Revision)); f != nil && op.State.Open() {
			operationEnded = f.ended
		}
	}
	defer commands.Aside(ctx)()
	select {
	case <-operationEnded:
	case <-time.After(rereadInterval):
	case <-ctx.Done():
		return domain.Unavailable(ctx.Err())
	case <-s.Draining:
		return runningConflict(state)
	}
	if deadline.Over(s.Store.Now()) {
		return runningConflict(state)
	}
	return nil
}

func runningConflict(state payment.State) error {
	return conflictOn(state, domain.ReasonConcurrentModification, "Another operation of the payment has no outcome yet.", "It is safe to repeat the request later.")
}

// conflictOn refuses a command on a payment that may accept it later.
func conflictOn(state payment.State, reason domain.Reason, message, recovery string) error {
	err := domain.Refuse(domain.KindConflict, reason, "%s", message)
	err.Payment, err.Status, err.Recovery = state.ID, string(state.Status()), recovery
	return err
}
