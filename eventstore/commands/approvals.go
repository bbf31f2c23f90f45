package commands

import (
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/domain/instrument"
	"payledger/domain/session"
	"payledger/eventstore"
)

// AbortInput is a request to abort a payment attempt (D5.17).
type AbortInput struct {
	Attempt domain.AttemptID
	Reason  string
}

// AbortAttempt aborts an attempt and invalidates its token (§3.3, D5.17).
func (s *Service) AbortAttempt(ctx context.Context, by Caller, in AbortInput) (attempt.State, error) {
	return s.abort(ctx, by, in, false)
}

func (s *Service) abort(ctx context.Context, by Caller, in AbortInput, tokenKept bool) (attempt.State, error) {
	ctx = context.WithoutCancel(ctx)
	tip, err := Request(ctx, s.Base, by, s.Log.Attempts.Execute, in.Attempt, func(state attempt.State, at time.Time) (attempt.Event, error) {
		return attempt.DecideAbort(state, attempt.Abort{At: at, Reason: in.Reason, TokenKept: tokenKept})
	})
	if err != nil {
		return tip.State, err
	}
	return s.finish(ctx, by, tip.State)
}

// ApproveAttempt approves an attempt and creates its payment. A repeat returns the same payment (§3.3, D5.15). It waits
// for the authorization as CreatePayment does.
func (s *Service) ApproveAttempt(ctx context.Context, by Caller, id domain.AttemptID) (attempt.State, error) {
	asked, err := s.Attempt(ctx, by.Account, id)
	if err != nil {
		return asked, err
	}
	from, err := s.mayApprove(ctx, by, asked)
	if err != nil {
		return asked, err
	}
	ctx = context.WithoutCancel(ctx)
	tip, err := Request(ctx, s.Base, by, s.Log.Attempts.Execute, id, func(state attempt.State, at time.Time) (attempt.Event, error) {
		return attempt.DecideApprove(state, attempt.Approve{At: at, Payment: domain.PaymentIDForAttempt(by.Account, id), Terms: from.Revision})
	})
	if err != nil {
		return tip.State, err
	}
	return s.finish(ctx, by, tip.State)
}

// mayApprove returns the attempt's session. Before anything is recorded, it returns an error for an attempt that could
// not pay.
func (s *Service) mayApprove(ctx context.Context, by Caller, asked attempt.State) (session.State, error) {
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
		return tip.State, attempt.NotCurrent()
	}
	err = s.CheckApproved(ctx, by, s.approved(asked.ID, tip.State, AttemptInput{Token: asked.Token, Shown: asked.Shown}))
	var used *domain.Error
	if errors.As(err, &used) && used.Reason == domain.ReasonPayment {
		if newer, loadErr := s.Attempt(ctx, by.Account, asked.ID); loadErr == nil && newer.Decision != "" {
			return tip.State, nil // decided meanwhile; that decision stands
		}
	}
	return tip.State, err
}

// RecoverAttempt completes a decided attempt after a crash. It waits for no processor.
func (s *Service) RecoverAttempt(ctx context.Context, account domain.AccountID, id domain.AttemptID) error {
	tip, err := s.Log.Attempts.Load(ctx, account, id, eventstore.Latest)
	if err != nil || !tip.State.Due() {
		return err
	}
	after, _, err := s.carryOut(ctx, Caller{Account: account, Actor: "process:recovery", RequestID: tip.Recorded.CorrelationID}, tip.State)
	if !after.Due() {
		return nil // completed, or ended as refused
	}
	return err
}

// invalidate ends the token of an aborted attempt.
func (s *Service) invalidate(ctx context.Context, by Caller, a attempt.State) error {
	tip, err := Follow(ctx, s.Base, by, s.Log.Instruments.Execute, a.Token, func(state instrument.State, at time.Time) (instrument.Event, error) {
		return instrument.DecideInvalidate(state, instrument.Invalidate{At: at, Session: a.Session, Attempt: a.ID})
	})
	if err != nil || !tip.State.Exists() || tip.State.Good() {
		return err
	}
	s.Discard(CardRef(tip.State))
	if err := s.Secrets.DestroyKept(ctx, CardRef(tip.State)); err != nil { // vaulted when it was tokenized
		return domain.Unavailable(err)
	}
	return nil
}
