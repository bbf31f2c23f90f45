package commands

import (
	"context"
	"errors"
	"fmt"

	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/due"
)

// finish carries out an attempt's decision and waits for the payment's outcome, at most until the payment timeout.
func (s *Service) finish(ctx context.Context, by Caller, a attempt.State) (attempt.State, error) {
	a, flights, err := s.carryOut(ctx, by, a)
	if err != nil {
		return a, err
	}
	deadline := due.At(s.Store.Now(), a.DecidedAt, a.DecidedAt.Add(s.PaymentTimeout))
	for _, f := range flights {
		s.await(ctx, f, deadline)
	}
	return a, nil
}

// carryOut carries out an attempt's decision and records its completion. Repeated and concurrent calls are safe: the
// payment's id is derived from the attempt, so there is one payment (§3.3). It returns the payment's operations in
// flight and waits for no processor.
func (s *Service) carryOut(ctx context.Context, by Caller, a attempt.State) (attempt.State, []*inFlight, error) {
	var flights []*inFlight
	var err error
	switch {
	case a.Decision == attempt.Approved:
		if flights, err = s.payApproved(ctx, by, a); s.final(a, err) {
			return s.refuseApproved(ctx, by, a, err)
		}
	case a.Due() && !a.TokenKept:
		err = s.invalidate(ctx, by, a)
	}
	if err == nil && a.Due() {
		a, err = s.complete(ctx, by, a)
	}
	if err != nil {
		return a, nil, unfinished(err)
	}
	return a, flights, nil
}

// complete records that the decision is carried out.
func (s *Service) complete(ctx context.Context, by Caller, a attempt.State) (attempt.State, error) {
	meta, err := s.Store.NewMeta(by.Actor, by.RequestID)
	if err != nil {
		return a, err
	}
	tip, err := s.log.Attempts.Execute(ctx, by.Account, a.ID, meta,
		func(state attempt.State) (attempt.Event, error) { return attempt.DecideComplete(state, meta.At) })
	if err != nil {
		return a, err
	}
	return tip.State, nil
}

// final reports whether err refuses the payment of an approved attempt for good (D5.16). A lack of processors is final
// only after the session has expired: one may be enabled before.
func (s *Service) final(a attempt.State, err error) bool {
	var refused *domain.Error
	switch {
	case !errors.As(err, &refused), refused.Kind != domain.KindInvalid && refused.Kind != domain.KindConflict:
		return false
	case refused.Reason == domain.ReasonConcurrentModification:
		return false
	case errors.Is(err, payment.ErrNoProcessor):
		return !s.Store.Now().Before(a.ExpiresAt)
	default:
		return true
	}
}

// refuseApproved ends an approval whose payment can never be created: it first blocks the payment's id on every node,
// then records the refusal on the attempt. A payment that was created meanwhile stands.
func (s *Service) refuseApproved(ctx context.Context, by Caller, a attempt.State, refusal error) (attempt.State, []*inFlight, error) {
	tip, err := s.giveUp(ctx, by, a.Payment, "")
	if err != nil {
		return a, nil, unfinished(err)
	}
	if tip.State.Exists() {
		return s.carryOut(ctx, by, a)
	}
	meta, err := s.Store.NewMeta(by.Actor, by.RequestID)
	if err != nil {
		return a, nil, err
	}
	reason := refusal.Error()
	var payload *domain.Error
	if errors.As(refusal, &payload) {
		reason = payload.Message
	}
	s.Logger.Warn().Err(refusal).Str("paymentAttempt", string(a.ID)).Msg("an approved payment cannot be made")
	ended, err := s.log.Attempts.Execute(ctx, by.Account, a.ID, meta,
		func(state attempt.State) (attempt.Event, error) {
			return attempt.DecideRefuse(state, attempt.Refuse{At: meta.At, Reason: reason})
		})
	if err != nil {
		return a, nil, unfinished(err)
	}
	return ended.State, nil, refusal
}

// unfinished returns the error for a failure after the decision became durable. The decision stands; a repeat or the
// recovery carries it out.
func unfinished(err error) error {
	var e *domain.Error
	if !errors.As(err, &e) || e.Reason != domain.ReasonServiceUnavailable {
		return err
	}
	payload := domain.OutcomeUnknown(err)
	payload.Message, payload.Recovery = "The decision is recorded; carrying it out goes on.", "Repeat the request."
	return payload
}

// payApproved loads or creates the payment of an approved attempt, and returns its operations in flight.
func (s *Service) payApproved(ctx context.Context, by Caller, a attempt.State) ([]*inFlight, error) {
	tip, err := s.log.Payments.Load(ctx, by.Account, a.Payment, eventstore.Latest)
	if err != nil {
		return nil, err
	}
	if !tip.State.Exists() {
		from, err := s.terms(ctx, a)
		if err != nil {
			return nil, err
		}
		tip, err = s.make(ctx, by, &creation{
			PaymentInput: PaymentInput{Token: a.Token, Session: a.Session},
			id:           a.Payment, approval: &approval{at: a.DecidedAt, from: from},
		})
		if err != nil {
			return nil, err
		}
	}
	var under []*inFlight
	for _, op := range process.Open(tip.State) {
		under = append(under, s.launch(tip, op.Revision, tip.Appended && op.State == payment.StateRequested))
	}
	return under, nil
}

// terms returns the session as it was approved, without later changes.
func (s *Service) terms(ctx context.Context, a attempt.State) (session.State, error) {
	tip, err := s.log.Sessions.Load(ctx, a.Account, a.Session, eventstore.AllowStale)
	if err != nil || tip.State.Revision == a.Terms {
		return tip.State, err
	}
	events, err := s.Store.History(ctx, tip.Recorded.Key)
	if err != nil {
		return session.State{}, domain.Unavailable(err)
	}
	if uint64(len(events)) < a.Terms {
		return session.State{}, fmt.Errorf("the session of attempt %s has no revision %d", a.ID, a.Terms)
	}
	return eventstore.Sessions.Fold(events[:a.Terms])
}
