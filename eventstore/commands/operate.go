package commands

import (
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
)

// How an operation is taken up.
const (
	sendFirst = true  // it was recorded just now
	askFirst  = false // it was found without an outcome: the processor may have it
)

// launch starts the newest open operation of a payment, or joins it when it is under way here.
func (s *Service) launch(tip eventstore.Tip[payment.State], send bool) *flight {
	_, revision := process.Authorization(tip.State)
	key := tip.State.OperationKey(revision)
	f, fresh := s.flights.join(key, func() *flight {
		return &flight{key: key, revision: revision, tip: tip, state: tip.State, answered: make(chan struct{})}
	})
	if fresh {
		s.running.Go(func() {
			defer s.flights.leave(key)
			s.fly(s.ctx, f, send)
		})
	}
	return f
}

// await gives the payment as it stands when the operation has an answer, at the payment timeout, or when
// the service drains. It does not end with the caller's context: the caller may be gone, the work is not.
func (s *Service) await(f *flight) (payment.State, error) {
	select {
	case <-f.answered:
	case <-s.drain:
	case <-s.ctx.Done():
	}
	state := f.newest()
	return state.Unanswered(f.revision), nil
}

// fly takes one operation to its outcome, for as long as it takes or until ctx ends.
func (s *Service) fly(ctx context.Context, f *flight, send bool) {
	op, _ := f.tip.State.Operation(f.revision)
	timeout := op.RequestedAt.Add(s.PaymentTimeout) // until then callers wait
	for late := false; ; f.asked++ {
		attempt, cancel := context.WithTimeout(ctx, s.patience(timeout))
		answer, known := s.exchange(attempt, f, send)
		cancel()
		if known && s.record(ctx, f, answer) {
			return
		}
		if !late && !known && ctx.Err() == nil && !s.Store.Now().Before(timeout) {
			s.timedOut(ctx, f)
			late = true
		}
		wait := process.NextInterval(f.asked)
		if !late {
			wait = min(wait, max(0, timeout.Sub(s.Store.Now())))
		}
		if s.sleep(ctx, wait) != nil {
			return
		}
		send = askFirst
	}
}

// askTimeout bounds a question to the processor once callers wait no longer.
const askTimeout = 20 * time.Second

// patience is how long one exchange may take: as long as callers wait, later askTimeout.
func (s *Service) patience(timeout time.Time) time.Duration {
	if left := timeout.Sub(s.Store.Now()); left > 0 {
		return left
	}
	return askTimeout
}

// exchange sends the operation, or asks what became of it and does what that calls for. Not known: ask
// again later.
func (s *Service) exchange(ctx context.Context, f *flight, send bool) (processor.Answer, bool) {
	op, _ := f.tip.State.Operation(f.revision)
	name := op.Target.Processor
	if send {
		return s.send(ctx, f)
	}
	found, err := s.Processors.Lookup(ctx, name, f.key)
	if err == nil && found.State == processor.Unseen {
		if process.MayResend(op.RequestedAt, s.Store.Now(), s.PaymentTimeout) {
			return s.send(ctx, f)
		}
		found, err = s.Processors.Fence(ctx, name, f.key)
	}
	switch {
	case err != nil:
		s.unanswered(f, err)
		return processor.Answer{}, false
	case found.State == processor.Known && found.Answer != nil:
		return *found.Answer, true
	case found.State == processor.Fenced:
		return notSent(s.Store.Now()), true
	default:
		return processor.Answer{}, false
	}
}

// notSent is the outcome of an operation that the processor never saw and now never will.
func notSent(now time.Time) processor.Answer {
	return processor.Answer{
		State: processor.Failed, At: now, Code: processor.CodeFenced,
		Message: "The processor did not receive the request in time.",
	}
}

// send gives the operation to the processor. Without its card it cannot be sent: the key is fenced.
func (s *Service) send(ctx context.Context, f *flight) (processor.Answer, bool) {
	op, err := s.operation(ctx, f)
	if errors.Is(err, secrets.ErrGone) {
		found, err := s.Processors.Fence(ctx, op.Processor, f.key)
		if err != nil || found.State != processor.Fenced {
			return processor.Answer{}, false // the next question finds the answer
		}
		return notSent(s.Store.Now()), true
	}
	var answer processor.Answer
	if err == nil {
		answer, err = s.Processors.Send(ctx, op)
	}
	if err != nil {
		s.unanswered(f, err)
		return processor.Answer{}, false
	}
	return answer, true
}

// operation makes the request to the processor from the recorded facts and the card.
func (s *Service) operation(ctx context.Context, f *flight) (processor.Operation, error) {
	p := f.tip.State
	requested, _ := p.Operation(f.revision)
	op := processor.Operation{
		Kind: requested.Kind, Key: f.key, Processor: requested.Target.Processor, MerchantID: requested.Target.MerchantID,
		Reference: p.ID, Amount: requested.Amount, Currency: p.Currency, AuthorizationType: p.Method.AuthorizationType,
		PaymentType: p.Method.PaymentType, FirstPaymentReason: p.Method.FirstPaymentReason, Descriptor: p.Method.Descriptor,
	}
	if s.NotifyURL != nil {
		op.NotifyURL = s.NotifyURL(op.Processor)
	}
	card, err := s.Vault.Card(ctx, cardOf(p), s.Store.Now())
	op.Card = &card
	return op, err
}

func (s *Service) unanswered(f *flight, err error) {
	s.Logger.Debug().Err(err).Str("operation", string(f.key)).Int("asked", f.asked).Msg("no answer from the processor yet")
}

// record appends the outcome. True: the operation needs no more questions. A store that cannot take it now
// is tried again by the next question: the processor keeps the answer.
func (s *Service) record(ctx context.Context, f *flight, answer processor.Answer) bool {
	op, _ := f.tip.State.Operation(f.revision)
	if waiting(answer) && op.State == payment.StatePending {
		return false // known already that it waits
	}
	err := s.append(ctx, f, func(meta eventstore.Meta, state payment.State) (payment.Event, error) {
		return payment.DecideAuthorization(state, payment.RecordAuthorization{
			At: meta.At, EventID: meta.EventID, Request: f.revision, Answer: answer,
		})
	})
	if err != nil {
		s.Logger.Warn().Err(err).Str("operation", string(f.key)).Msg("outcome not recorded; asking again")
		return false
	}
	op, _ = f.tip.State.Operation(f.revision)
	f.publish(f.tip.State, true)
	if op.State.Open() {
		f.asked = 0
		return false
	}
	if paid := f.tip.State; !paid.Method.Vaulted {
		s.discard(cardOf(paid))
	}
	return true
}

// waiting tells an answer that is not the last one.
func waiting(a processor.Answer) bool {
	return a.State == processor.Pending || a.State == processor.ActionRequired
}

// timedOut records that the payment timeout passed (D8) and lets the callers go.
func (s *Service) timedOut(ctx context.Context, f *flight) {
	err := s.append(ctx, f, func(meta eventstore.Meta, state payment.State) (payment.Event, error) {
		return payment.DecideTimeOut(state, payment.TimeOut{At: meta.At, Request: f.revision})
	})
	if err != nil {
		s.Logger.Warn().Err(err).Str("operation", string(f.key)).Msg("time-out not recorded")
	}
	f.publish(f.tip.State, true)
}

// append runs one command of the flight on the payment; an operation that somebody else answered first is
// no error, the flight goes on from the state that stands there.
func (s *Service) append(ctx context.Context, f *flight, decide func(eventstore.Meta, payment.State) (payment.Event, error)) error {
	op, _ := f.tip.State.Operation(f.revision)
	meta, err := s.Store.NewMeta("processor:"+string(op.Target.Processor), f.tip.Recorded.CorrelationID)
	if err != nil {
		return err
	}
	tip, err := eventstore.Resume(ctx, s.Store, eventstore.Payments, f.tip, meta,
		func(state payment.State) (payment.Event, error) { return decide(meta, state) })
	if tip.Recorded != nil {
		f.tip = tip
	}
	if errors.Is(err, payment.ErrAlreadyAnswered) {
		return nil
	}
	return err
}

// sleep waits, or ends with ctx.
func (s *Service) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Recover takes up an operation that was found without an outcome: after a crash, or because its process
// is gone. One that is under way here, or has its outcome, is left alone.
func (s *Service) Recover(ctx context.Context, account domain.AccountID, id domain.PaymentID) error {
	tip, err := eventstore.LoadTipAtLeader(ctx, s.Store, eventstore.Payments, eventstore.Payments.Key(account, string(id)))
	if err != nil {
		return err
	}
	if step, _ := process.Authorization(tip.State); step == process.Ask {
		s.launch(tip, askFirst)
	}
	return nil
}

// Open is the number of operations that this process is bringing to their outcome.
func (s *Service) Open() int { return s.flights.count() }
