package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/due"
)

type awaiting = func(ctx context.Context, deadline due.Time)

// finish carries out an attempt's decision and waits for the payment's outcome, at most until the
// payment timeout.
func (s *Approvals) finish(ctx context.Context, by commands.Caller, a attempt.State) (attempt.State, error) {
	a, await, err := s.carryOut(ctx, by, a)
	if err == nil {
		await(ctx, due.At(s.Store.Now(), a.DecidedAt, a.DecidedAt.Add(s.PaymentTimeout)))
	}
	return a, err
}

// carryOut carries out an attempt's decision and records its completion. Repeated and concurrent
// calls are safe (§3.3). It waits for no processor; await waits for the payment's open operations.
func (s *Approvals) carryOut(ctx context.Context, by commands.Caller, a attempt.State) (after attempt.State, await awaiting, err error) {
	await = func(context.Context, due.Time) {}
	switch {
	case a.Decision == attempt.Approved:
		if await, err = s.payApproved(ctx, by, a); s.final(a, err) {
			return s.refuseApproved(ctx, by, a, err)
		}
	case a.Due() && !a.TokenKept:
		err = s.invalidate(ctx, by, a)
	}
	if err == nil && a.Due() {
		var tip eventstore.Tip[attempt.State]
		if tip, err = commands.Follow(ctx, s.Base, by, s.Log.Attempts.Execute, a.ID, attempt.DecideComplete); err == nil {
			a = tip.State
		}
	}
	if err != nil {
		return a, nil, unfinished(err)
	}
	return a, await, nil
}

// final reports whether err refuses the payment of an approved attempt for good (D5.16). A lack of
// processors is final only after the session has expired: one may be enabled before.
func (s *Approvals) final(a attempt.State, err error) bool {
	refused, is := errors.AsType[*domain.Error](err)
	switch {
	case !is, refused.Kind != domain.KindInvalid && refused.Kind != domain.KindConflict:
		return false
	case refused.Reason == domain.ReasonConcurrentModification:
		return false
	case errors.Is(err, payment.ErrNoProcessor):
		return !s.Store.Now().Before(a.ExpiresAt)
	default:
		return true
	}
}

// refuseApproved ends an approval whose payment can never be created: it first blocks the payment's
// id on every node, then records the refusal on the attempt. A payment that was created meanwhile
// stands.
func (s *Approvals) refuseApproved(ctx context.Context, by commands.Caller, a attempt.State, refusal error) (attempt.State, awaiting, error) {
	tip, err := s.Payments.GiveUp(ctx, by, a.Payment, "")
	if err != nil {
		return a, nil, unfinished(err)
	}
	if tip.State.Exists() {
		return s.carryOut(ctx, by, a)
	}
	reason := refusal.Error()
	if refused, is := errors.AsType[*domain.Error](refusal); is {
		reason = refused.Message
	}
	s.Logger.Warn().Err(refusal).Str("paymentAttempt", string(a.ID)).Msg("an approved payment cannot be made")
	ended, err := commands.Follow(ctx, s.Base, by, s.Log.Attempts.Execute, a.ID, func(state attempt.State, at time.Time) (attempt.Event, error) {
		return attempt.DecideRefuse(state, attempt.Refuse{At: at, Reason: reason})
	})
	if err != nil {
		return a, nil, unfinished(err)
	}
	return ended.State, nil, refusal
}

// unfinished returns the error for a failure after the decision is durable: a repeat or the
// recovery carries it out.
func unfinished(err error) error {
	if domain.ReasonOf(err) != domain.ReasonServiceUnavailable {
		return err
	}
	unknown := domain.OutcomeUnknown(err)
	unknown.Message, unknown.Recovery = "The decision is recorded; carrying it out goes on.", "Repeat the request."
	return unknown
}

// payApproved loads or creates the payment of an approved attempt, and continues its open
// operations.
func (s *Approvals) payApproved(ctx context.Context, by commands.Caller, a attempt.State) (awaiting, error) {
	tip, err := s.Log.Payments.Load(ctx, by.Account, a.Payment, eventstore.Latest)
	if err != nil {
		return nil, err
	}
	if !tip.State.Exists() {
		from, err := s.terms(ctx, a)
		if err != nil {
			return nil, err
		}
		tip, err = s.Payments.CreateApproved(ctx, by, payments.Approval{Payment: a.Payment, Token: a.Token, At: a.DecidedAt, Session: from})
		if err != nil {
			return nil, err
		}
	}
	return s.Payments.Continue(tip), nil
}

// terms returns the session as it was approved, without later changes.
func (s *Approvals) terms(ctx context.Context, a attempt.State) (session.State, error) {
	tip, err := s.Log.Sessions.Load(ctx, a.Account, a.Session, eventstore.Applied)
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
