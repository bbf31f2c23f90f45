package payments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/due"
	"payledger/eventstore/secrets"
)

// lookupTimeout limits a call to a processor for which no caller waits.
const lookupTimeout = 20 * time.Second

// callTimeout returns the time limit of one call: the time to the deadline while callers wait, else
// lookupTimeout.
func (s *Payments) callTimeout(f *operationInFlight) time.Duration {
	if left := f.deadline.Left(s.Store.Now()); left > 0 && s.inFlight.hasCallers(f) {
		return left
	}
	return lookupTimeout
}

// callProcessor sends the operation, or looks up its outcome. An operation that the processor never
// received is sent again or fenced (D8: process.MayResend). callProcessor returns false if the
// outcome is still unknown.
func (s *Payments) callProcessor(ctx context.Context, f *operationInFlight, send bool) (processor.Answer, bool) {
	op, _ := f.tip.State.Operation(f.revision)
	name := op.Target.Processor
	if send {
		return s.send(ctx, f)
	}
	found, err := s.Processors.Lookup(ctx, name, f.key)
	if err == nil && found.State == processor.Unseen {
		if process.MayResend(f.tip.State, op, s.Store.Now(), s.PaymentTimeout) {
			return s.send(ctx, f)
		}
		found, err = s.Processors.Fence(ctx, name, f.key)
	}
	switch {
	case err != nil:
		s.logNoAnswer(f, err)
		return processor.Answer{}, false
	case found.State == processor.Known && found.Answer != nil:
		f.lookedUp = true
		return *found.Answer, true
	case found.State == processor.Fenced:
		return notSent(s.Store.Now()), true
	default:
		return processor.Answer{}, false
	}
}

// notSent is the outcome of a fenced operation: the processor never received it and will never
// accept it.
func notSent(now time.Time) processor.Answer {
	return processor.Answer{
		State: processor.Failed, At: now, Code: processor.CodeFenced,
		Message: "The processor did not receive the request in time.",
	}
}

// send sends the operation to the processor. If the card of an authorization is destroyed, send
// fences the key instead.
func (s *Payments) send(ctx context.Context, f *operationInFlight) (processor.Answer, bool) {
	op, err := s.operation(ctx, f)
	if errors.Is(err, secrets.ErrGone) {
		s.endCardlessToken(ctx, f.tip.State)
		found, err := s.Processors.Fence(ctx, op.Processor, f.key)
		if err != nil || found.State != processor.Fenced {
			return processor.Answer{}, false // the next look-up finds the answer
		}
		return notSent(s.Store.Now()), true
	}
	var answer processor.Answer
	if f.logFailed = logFailed(err); err == nil {
		f.lookedUp = false
		answer, err = s.Processors.Send(ctx, op)
	}
	if err != nil {
		s.logNoAnswer(f, err)
		return processor.Answer{}, false
	}
	if op.Card != nil && op.Card.Token != "" && answer.CardTokenType == "" {
		answer.CardTokenType = processor.ProcessorToken
	}
	return answer, true
}

// operation builds the processor's request from the recorded facts. An authorization carries its
// card.
func (s *Payments) operation(ctx context.Context, f *operationInFlight) (processor.Operation, error) {
	p := f.tip.State
	requested, _ := p.Operation(f.revision)
	op := process.Operation(p, requested)
	if s.NotifyURL != nil {
		op.NotifyURL = s.NotifyURL(op.Processor)
	}
	if requested.Kind != processor.Authorize {
		return op, nil
	}
	if s.ReturnURL != nil {
		op.ReturnURL = s.ReturnURL()
	}
	card, kept, err := s.cardFor(ctx, p, op)
	op.Card, op.Tokenize = &card, p.Stores() && !kept
	return op, err
}

// endCardlessToken ends a vaulted token that has no card (D5.14).
func (s *Payments) endCardlessToken(ctx context.Context, p payment.State) {
	if !p.Method.Vaulted {
		return
	}
	tip, err := s.Log.Instruments.Load(ctx, p.Account, p.Method.Token, eventstore.Latest)
	if err == nil {
		err = s.instruments.KeepVaulted(ctx, tip.State)
	}
	if err != nil {
		s.Logger.Warn().Err(err).Str("payment", string(p.ID)).Msg("a vaulted token has no card to pay with")
	}
}

func (s *Payments) logNoAnswer(f *operationInFlight, err error) {
	level := zerolog.DebugLevel
	if errors.Is(err, processor.ErrKeyReused) {
		level = zerolog.ErrorLevel
	}
	s.Logger.WithLevel(level).Err(err).Str("operation", string(f.key)).Int("asked", f.asked).Msg("no answer from the processor yet")
}

// record appends the outcome. The answer counts as none if the list of operations that a refusal
// needs does. If the log fails, record sets f.logFailed: the next look-up gets the same answer.
func (s *Payments) record(ctx context.Context, f *operationInFlight, answer processor.Answer) tried {
	before, _ := f.tip.State.Operation(f.revision)
	if answer.State == processor.Pending && before.State == payment.StatePending {
		return noOutcome // it was recorded before
	}
	var err error
	if f.lookedUp && mayBeOfAnother(before, answer) {
		f.tip, err = s.recordBesides(ctx, f.tip, f.revision)
	}
	if err == nil {
		f.tip, err = s.recordAnswer(ctx, f.tip, f.revision, answer)
	}
	switch {
	case errors.Is(err, payment.ErrRunning):
		return noOutcome // wait for the other operation's answer
	case errors.Is(err, processor.ErrUnknown):
		s.logNoAnswer(f, err)
		return noAnswer
	case err != nil:
		level := zerolog.WarnLevel
		if f.logFailed = logFailed(err); f.failures > 0 { // it was logged
			level = zerolog.DebugLevel
		}
		s.Logger.WithLevel(level).Err(err).Str("operation", string(f.key)).Msg("outcome not recorded; trying again")
		return noOutcome
	}
	if why := f.tip.State.Contradiction(f.revision, answer); why != "" { // another outcome may have been recorded meanwhile
		s.Logger.Warn().Str("operation", string(f.key)).Str("reason", why).Msg("the processor's answer contradicts its earlier answer")
	}
	op, _ := f.tip.State.Operation(f.revision)
	if !op.State.Open() {
		return hasOutcome
	}
	if op.State != before.State {
		f.asked = 0
		s.answer(f)
	}
	return noOutcome
}

// mayBeOfAnother reports whether a look-up's answer may be about another operation under the key:
// it moves money, and does not state which operation and amount. Then the books decide. An answer
// to the operation itself cannot: the processor compares a repeat with its first request.
func mayBeOfAnother(op payment.Operation, a processor.Answer) bool {
	moves := a.State == processor.Succeeded || a.State == processor.Pending
	return op.Kind.Modifies() && moves && (a.Kind == "" || a.Amount == nil && op.Kind != processor.Void)
}

// recordAnswer records a processor's answer. Before a refusal it records out-of-band operations,
// and the result of an authorization whose action has ended. If the operation already has its
// outcome, recordAnswer returns the newest tip and no error.
func (s *Payments) recordAnswer(ctx context.Context, tip eventstore.Tip[payment.State], revision uint64, answer processor.Answer) (eventstore.Tip[payment.State], error) {
	return s.recordAnswerTo(ctx, tip, revision, answer, "")
}

// recordAnswerTo is recordAnswer for a resume with the idempotency key of a hash; "" for none.
func (s *Payments) recordAnswerTo(ctx context.Context, tip eventstore.Tip[payment.State], revision uint64, answer processor.Answer, keyHash string) (eventstore.Tip[payment.State], error) {
	op, _ := tip.State.Operation(revision)
	requested := process.Operation(tip.State, op)
	if why := requested.Unfit(answer); why != "" {
		s.unfit(tip.State, revision, why)
		if requested.Misnamed(answer) { // the log may have lost the operation that the answer is about
			tip, _ = s.recordBooks(ctx, tip, revision, revision) // as far as they can be read
		}
		return tip, fmt.Errorf("%w: the answer does not fit the request: %s", processor.ErrUnknown, why)
	}
	tip, err := s.recordOutOfBand(ctx, tip, revision, answer)
	if err == nil && op.Kind == processor.Complete && op.State.Open() && answer.Code == processor.CodeNoAction {
		tip, err = s.recordEndedAction(ctx, tip, op)
	}
	if err != nil {
		return tip, err
	}
	return s.appendAnswer(ctx, tip, revision, answer, keyHash)
}

// recordEndedAction records the result of the authorization before its completion fails because the
// action has ended at the processor: the customer need not act again in between. Without a result
// the completion fails alone, and a later look-up or a notification has the result.
func (s *Payments) recordEndedAction(ctx context.Context, tip eventstore.Tip[payment.State], completion payment.Operation) (eventstore.Tip[payment.State], error) {
	asking, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	defer context.AfterFunc(s.Life, cancel)() // Close
	found, err := s.Processors.Lookup(asking, completion.Target.Processor, tip.State.OperationKey(completion.Parent))
	if err != nil || found.State != processor.Known || found.Answer == nil ||
		found.Answer.State == processor.Pending || found.Answer.State == processor.ActionRequired {
		return tip, nil //nolint:nilerr // as without a result
	}
	next, err := s.recordAnswer(ctx, tip, completion.Parent, *found.Answer)
	if errors.Is(err, payment.ErrRunning) || errors.Is(err, processor.ErrUnknown) {
		return next, nil
	}
	return next, err
}

// unfit tells operators of an answer that does not fit its operation.
func (s *Payments) unfit(p payment.State, revision uint64, why string) {
	op, _ := p.Operation(revision)
	key := p.OperationKey(revision)
	s.Logger.Error().Str("payment", string(p.ID)).Str("operation", string(key)).Str("processor", string(op.Target.Processor)).Str("reason", why).
		Msg("a processor's answer does not fit the request: it is not taken, and the outcome stays unknown")
	s.NoteUnfit(op.Target.Processor, key, why)
}

// RecordNotified records an answer that the processor sent by itself, as recordAnswer does. It
// starts the operation that the answer requests, and makes the next look-up of the answered
// operation due now.
func (s *Payments) RecordNotified(ctx context.Context, tip eventstore.Tip[payment.State], revision uint64, answer processor.Answer) (eventstore.Tip[payment.State], error) {
	next, err := s.recordAnswer(ctx, tip, revision, answer)
	if err != nil {
		return next, err
	}
	if next.Appended {
		s.launchRequested(next, due.Time{})
	}
	s.inFlight.lookUpNow(next.State.OperationKey(revision))
	return next, nil
}

// appendAnswer is recordAnswer without the look-up of out-of-band operations.
func (s *Payments) appendAnswer(ctx context.Context, tip eventstore.Tip[payment.State], revision uint64, answer processor.Answer, keyHash string) (eventstore.Tip[payment.State], error) {
	wasUnauthorized := tip.State.Status() == payment.StatusPending
	answer = s.withoutCardToken(ctx, tip.State, answer)
	answer.RawAnswer = s.sealedAnswer(ctx, tip.State, answer.RawAnswer)
	if op, _ := tip.State.Operation(revision); op.Kind == processor.Authorize && refusesToken(answer) {
		s.forgetCardToken(ctx, tip.State, revision) // first: if it is recorded, the next payment sends the number
	}
	next, err := s.appendEvent(ctx, tip, revision, func(meta eventstore.Meta, state payment.State) (payment.Event, error) {
		return payment.DecideAnswer(state, payment.RecordAnswer{
			At: meta.At, EventID: meta.EventID, Request: revision, Answer: answer,
			ActionExpiresAt: meta.At.Add(s.ActionTimeout), KeyHash: keyHash,
		})
	})
	if errors.Is(err, payment.ErrOtherTransaction) {
		s.unfit(next.State, revision, "it is about another transaction than was recorded")
	}
	if err == nil && next.Appended {
		s.changed(next.State.ID)
		if op, _ := next.State.Operation(revision); op.Kind == processor.Complete && op.State == payment.StateFailed {
			s.scheduleExpiryAfterFailure(next.State)
		}
	}
	if paid := next.State; err == nil && wasUnauthorized && paid.Status() != payment.StatusPending {
		s.vaultOrDestroyCard(ctx, paid) // the authorization is over
	}
	if err == nil && answer.CardToken != "" && approved(next.State, revision, answer) {
		s.keepCardToken(ctx, next.State, revision, answer.CardToken)
	}
	return next, err
}

// sealedAnswer returns the body of an answer with its additional fields sealed. Fields that cannot
// be sealed are not kept.
func (s *Payments) sealedAnswer(ctx context.Context, paid payment.State, raw *processor.RawAnswer) *processor.RawAnswer {
	if raw == nil || raw.Additional == "" {
		return raw
	}
	sealed, err := s.SealText(ctx, paid, raw.Additional)
	if err != nil {
		s.Logger.Warn().Err(err).Str("payment", string(paid.ID)).Msg("additional fields of an answer could not be sealed and are not kept")
	}
	return &processor.RawAnswer{Body: raw.Body, Sealed: sealed, Redacted: raw.Redacted || sealed == nil, Cut: raw.Cut}
}

// timedOut records, once, that the payment timeout is over (D8), and answers the callers.
func (s *Payments) timedOut(ctx context.Context, f *operationInFlight) {
	if op, _ := f.tip.State.Operation(f.revision); op.State != payment.StateRequested {
		f.publish(f.tip.State, true)
		return
	}
	var err error
	f.tip, err = s.appendEvent(ctx, f.tip, f.revision, func(meta eventstore.Meta, state payment.State) (payment.Event, error) {
		return payment.DecideTimeOut(state, payment.TimeOut{At: meta.At, Request: f.revision})
	})
	if err != nil {
		s.Logger.Warn().Err(err).Str("operation", string(f.key)).Msg("time-out not recorded")
	}
	f.publish(f.tip.State.Unanswered(), true) // the time-out, even if it was not recorded
}

// appendEvent records one command about an operation. If the operation has its outcome, it returns
// the newest tip and no error. If the append has no answer, the payment is looked up: the event may
// be recorded, and request an operation that nobody else sends.
func (s *Payments) appendEvent(ctx context.Context, tip eventstore.Tip[payment.State], revision uint64, decide func(eventstore.Meta, payment.State) (payment.Event, error)) (eventstore.Tip[payment.State], error) {
	op, _ := tip.State.Operation(revision)
	meta, err := s.metaOf(ctx, op.Target.Processor, tip.Recorded, revision)
	if err != nil {
		return tip, err
	}
	next, err := s.Log.Payments.ExecuteFrom(ctx, tip, meta,
		func(state payment.State) (payment.Event, error) { return decide(meta, state) })
	s.noteDoubt(tip.State.Account, tip.State.ID, err)
	if next.Recorded == nil {
		next = tip
	}
	if errors.Is(err, payment.ErrAlreadyAnswered) {
		err = nil
	}
	return next, err
}

// metaOf returns the metadata for a processor's answer. Its correlation id is that of the event at
// revision, which requested the operation. newest is the aggregate's newest known event.
func (s *Payments) metaOf(ctx context.Context, name processor.Name, newest *eventstore.Recorded, revision uint64) (eventstore.Meta, error) {
	r := newest
	for r.Revision > revision && r.PrevSeq > 0 {
		var err error
		if r, err = s.Store.Read(ctx, r.Shard, r.PrevSeq); err != nil {
			return eventstore.Meta{}, domain.Unavailable(err)
		}
	}
	return s.Store.NewMeta("processor:"+string(name), r.CorrelationID)
}
