package approvals

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/domain/instrument"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/sessions"
)

// Approvals carries out the commands of payment attempts.
type Approvals struct {
	*commands.Base
	Sessions    *sessions.Sessions
	Instruments *instruments.Instruments
	Payments    *payments.Payments
}

// AbortAttempt aborts an attempt and invalidates its token (§3.3, D5.17).
func (s *Approvals) AbortAttempt(ctx context.Context, by commands.Caller, id domain.AttemptID, reason string) (attempt.State, error) {
	return s.abort(ctx, by, id, attempt.Abort{Reason: reason})
}

func (s *Approvals) abort(ctx context.Context, by commands.Caller, id domain.AttemptID, c attempt.Abort) (attempt.State, error) {
	ctx = context.WithoutCancel(ctx)
	tip, err := commands.Request(ctx, s.Base, by, s.Log.Attempts.Execute, id, func(state attempt.State, at time.Time) (attempt.Event, error) {
		c.At = at
		return attempt.DecideAbort(state, c)
	})
	if err != nil {
		return tip.State, err
	}
	return s.finish(ctx, by, tip.State)
}

// ApproveAttempt approves an attempt, creates its one payment (§3.3, D5.15), and waits for the
// authorization as CreatePayment does.
func (s *Approvals) ApproveAttempt(ctx context.Context, by commands.Caller, id domain.AttemptID) (attempt.State, error) {
	asked, err := s.Attempt(ctx, by.Account, id)
	if err != nil {
		return asked, err
	}
	from, err := s.mayApprove(ctx, by, asked)
	if err != nil {
		return asked, err
	}
	ctx = context.WithoutCancel(ctx)
	tip, err := commands.Request(ctx, s.Base, by, s.Log.Attempts.Execute, id, func(state attempt.State, at time.Time) (attempt.Event, error) {
		return attempt.DecideApprove(state, attempt.Approve{At: at, Payment: domain.PaymentIDForAttempt(by.Account, id), Terms: from.Revision})
	})
	if err != nil {
		return tip.State, err
	}
	return s.finish(ctx, by, tip.State)
}

// mayApprove returns the attempt's session. It returns an error, before anything is recorded, for
// an attempt that could not pay.
func (s *Approvals) mayApprove(ctx context.Context, by commands.Caller, asked attempt.State) (session.State, error) {
	if asked.Decision == attempt.Approved {
		return session.State{}, nil // a repeat
	}
	if _, err := attempt.DecideApprove(asked, attempt.Approve{At: s.Store.Now()}); err != nil {
		return session.State{}, err
	}
	tip, err := s.Log.Sessions.Load(ctx, by.Account, asked.Session, eventstore.Latest)
	if err != nil {
		return tip.State, err
	}
	if tip.State.Attempt != asked.ID {
		return tip.State, attempt.NotCurrent(tip.State.Attempt)
	}
	err = s.Payments.CheckApproved(ctx, by, s.approved(asked.ID, tip.State, AttemptInput{Token: asked.Token, Shown: asked.Shown}))
	if domain.ReasonOf(err) == domain.ReasonPayment {
		if newer, loadErr := s.Attempt(ctx, by.Account, asked.ID); loadErr == nil && newer.Decision != "" {
			return tip.State, nil // decided meanwhile; that decision stands
		}
	}
	return tip.State, err
}

// RecoverAttempt completes a decided attempt after a crash. It waits for no processor.
func (s *Approvals) RecoverAttempt(ctx context.Context, account domain.AccountID, id domain.AttemptID) error {
	tip, err := s.Log.Attempts.Load(ctx, account, id, eventstore.Latest)
	if err != nil || !tip.State.Due() {
		return err
	}
	after, _, err := s.carryOut(ctx, commands.Caller{Account: account, Actor: "process:recovery", RequestID: tip.Recorded.CorrelationID}, tip.State)
	if !after.Due() {
		return nil // completed, or ended as refused
	}
	return err
}

func (s *Approvals) invalidate(ctx context.Context, by commands.Caller, a attempt.State) error {
	tip, err := commands.Follow(ctx, s.Base, by, s.Log.Instruments.Execute, a.Token, func(state instrument.State, at time.Time) (instrument.Event, error) {
		return instrument.DecideInvalidate(state, instrument.Invalidate{At: at, Session: a.Session, Attempt: a.ID})
	})
	if err != nil || !tip.State.Exists() || tip.State.Good() {
		return err
	}
	s.Instruments.Discard(instruments.CardRef(tip.State))
	if err := s.Instruments.DestroySaved(ctx, instruments.CardRef(tip.State)); err != nil { // vaulted when it was tokenized
		return domain.Unavailable(err)
	}
	return nil
}
