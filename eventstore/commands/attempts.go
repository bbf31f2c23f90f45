package commands

import (
	"context"
	"errors"

	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/domain/instrument"
	"payledger/domain/session"
	"payledger/eventstore"
)

// AttemptInput is a customer's request to pay in a MANUAL session (D12).
type AttemptInput struct {
	Session domain.SessionID
	Token   domain.Token
}

// AbortInput ends a payment attempt (D5).
type AbortInput struct {
	Attempt domain.AttemptID
	Reason  string
}

// superseded is the reason of an attempt that another one of its session took the place of.
const superseded = "Another payment attempt was started."

// Attempt reads a payment attempt; an unknown one is refused (D3).
func (s *Service) Attempt(ctx context.Context, account domain.AccountID, id domain.AttemptID) (attempt.State, error) {
	tip, err := eventstore.LoadTipFresh(ctx, s.Store, eventstore.Attempts, eventstore.Attempts.Key(account, string(id)))
	if err == nil && !tip.State.Exists() {
		err = attempt.Unknown()
	}
	return tip.State, err
}

// startTries is how often an attempt is made anew after another of its session was started first.
const startTries = 16

// StartAttempt makes the payment attempt that a MANUAL session waits for; a repeat with the same token gives the same
// one (D12). One that waits already with another token is aborted: a session has one active attempt (§2.5).
func (s *Service) StartAttempt(ctx context.Context, by Caller, in AttemptInput) (attempt.State, error) {
	for range startTries {
		made, moved, err := s.startAttempt(ctx, by, in)
		if !moved {
			return made, err
		}
	}
	return attempt.State{}, overtaken()
}

// startAttempt tries once; moved tells that another attempt was started meanwhile. The attempt is durable before its
// session names it, so that the one named is always there; one that no session names is known to nobody.
func (s *Service) startAttempt(ctx context.Context, by Caller, in AttemptInput) (made attempt.State, moved bool, err error) {
	from, err := s.Session(ctx, by.Account, in.Session)
	if err != nil {
		return made, false, err
	}
	if from.ApprovalMode != session.ApprovalManual {
		return made, false, session.NeedsNoApproval()
	}
	before, err := s.current(ctx, by, from)
	if err != nil {
		return made, false, err
	}
	waits := before.Status(s.Store.Now()) == attempt.RequiresApproval
	if waits && before.Token == in.Token {
		return before, false, nil // a repeat
	}
	id := domain.NewAttemptID(from.ID, in.Token, from.Attempts)
	if _, _, err := s.payWith(ctx, by.Account, s.approved(by.Account, id, in.Token, from)); err != nil {
		if before.Decision == attempt.Approved && before.Token == in.Token && domain.ReasonOf(err) == domain.ReasonPayment {
			return before, false, nil // a repeat, of one that has paid meanwhile
		}
		return made, false, err
	}
	ctx = context.WithoutCancel(ctx)
	if made, err = s.recordAttempt(ctx, by, from, id, in.Token); err != nil {
		return made, false, err
	}
	if waits {
		_, err = s.AbortAttempt(ctx, by, AbortInput{Attempt: before.ID, Reason: superseded})
		if err != nil && domain.ReasonOf(err) != domain.ReasonAttemptNotPending { // it was approved at this moment
			return made, false, err
		}
	}
	moved, err = s.nameAttempt(ctx, by, from, id)
	return made, moved, err
}

// current reads the attempt that the session names, and ends what a crash has left of its decision; the zero state,
// which has expired, when the session names none.
func (s *Service) current(ctx context.Context, by Caller, from session.State) (attempt.State, error) {
	if from.Attempt == "" {
		return attempt.State{}, nil
	}
	named, err := s.Attempt(ctx, from.Account, from.Attempt)
	if err == nil && named.Due() {
		return s.finish(context.WithoutCancel(ctx), by, named)
	}
	return named, err
}

// approved is the payment that the approval of an attempt would make now.
func (s *Service) approved(account domain.AccountID, id domain.AttemptID, token domain.Token, from session.State) *creation {
	return &creation{
		PaymentInput: PaymentInput{Token: token, Session: from.ID},
		id:           domain.PaymentIDForAttempt(account, id), approval: &approval{at: s.Store.Now(), from: from},
	}
}

func (s *Service) recordAttempt(ctx context.Context, by Caller, from session.State, id domain.AttemptID, token domain.Token) (attempt.State, error) {
	meta, err := s.request(by)
	if err != nil {
		return attempt.State{}, err
	}
	command := attempt.Create{Created: attempt.Created{
		At: meta.At, ID: id, Account: by.Account, ExpiresAt: from.ExpiresAt, Session: from.ID, Token: token,
	}}
	tip, err := eventstore.ExecuteNew(ctx, s.Store, eventstore.Attempts, eventstore.Attempts.Key(by.Account, string(id)), meta,
		func(state attempt.State) (attempt.Event, error) { return attempt.DecideCreate(state, command) })
	return tip.State, err
}

// nameAttempt makes the attempt its session's current one.
func (s *Service) nameAttempt(ctx context.Context, by Caller, from session.State, id domain.AttemptID) (moved bool, err error) {
	meta, err := s.request(by)
	if err != nil {
		return false, err
	}
	_, err = eventstore.Execute(ctx, s.Store, eventstore.Sessions, eventstore.Sessions.Key(by.Account, string(from.ID)), meta,
		func(state session.State) (e session.Event, err error) {
			e, moved, err = session.DecideStartAttempt(state, session.StartAttempt{At: meta.At, Attempt: id, Before: from.Attempts})
			return e, err
		})
	return moved, err
}

// AbortAttempt ends an attempt without a payment, and the token that was made for it (§3.3).
func (s *Service) AbortAttempt(ctx context.Context, by Caller, in AbortInput) (attempt.State, error) {
	ctx = context.WithoutCancel(ctx)
	meta, err := s.request(by)
	if err != nil {
		return attempt.State{}, err
	}
	tip, err := eventstore.Execute(ctx, s.Store, eventstore.Attempts, eventstore.Attempts.Key(by.Account, string(in.Attempt)), meta,
		func(state attempt.State) (attempt.Event, error) {
			return attempt.DecideAbort(state, attempt.Abort{At: meta.At, Reason: in.Reason})
		})
	if err != nil {
		return tip.State, err
	}
	return s.finish(ctx, by, tip.State)
}

// ApproveAttempt lets the payment of an attempt be made, and makes it; again, it gives the same payment (§3.3, D5). It
// waits for the authorization as a create does.
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
	meta, err := s.request(by)
	if err != nil {
		return asked, err
	}
	tip, err := eventstore.Execute(ctx, s.Store, eventstore.Attempts, eventstore.Attempts.Key(by.Account, string(id)), meta,
		func(state attempt.State) (attempt.Event, error) {
			return attempt.DecideApprove(state, attempt.Approve{
				At: meta.At, Payment: domain.PaymentIDForAttempt(by.Account, id), Terms: from.Revision,
			})
		})
	if err != nil {
		return tip.State, err
	}
	return s.finish(ctx, by, tip.State)
}

// mayApprove gives the session as it stands, and refuses before anything is recorded what could not be paid.
func (s *Service) mayApprove(ctx context.Context, by Caller, asked attempt.State) (session.State, error) {
	if asked.Decision == attempt.Approved {
		return session.State{}, nil // a repeat
	}
	if _, err := attempt.DecideApprove(asked, attempt.Approve{At: s.Store.Now()}); err != nil {
		return session.State{}, err
	}
	tip, err := eventstore.LoadTipFresh(ctx, s.Store, eventstore.Sessions, eventstore.Sessions.Key(by.Account, string(asked.Session)))
	if err != nil {
		return tip.State, err
	}
	_, err = s.assemble(ctx, by, s.approved(by.Account, asked.ID, asked.Token, tip.State))
	var used *domain.Error
	if errors.As(err, &used) && used.Reason == domain.ReasonPayment {
		if newer, loadErr := s.Attempt(ctx, by.Account, asked.ID); loadErr == nil && newer.Decision != "" {
			return tip.State, nil // decided meanwhile: that counts
		}
	}
	return tip.State, err
}

// RecoverAttempt does what is left to do about a decided attempt, after a crash.
func (s *Service) RecoverAttempt(ctx context.Context, account domain.AccountID, id domain.AttemptID) error {
	tip, err := eventstore.LoadTipAtLeader(ctx, s.Store, eventstore.Attempts, eventstore.Attempts.Key(account, string(id)))
	if err != nil || !tip.State.Due() {
		return err
	}
	_, err = s.finish(ctx, Caller{Account: account, Actor: "process:recovery", RequestID: tip.Recorded.CorrelationID}, tip.State)
	return err
}

// invalidate ends the token of an aborted attempt.
func (s *Service) invalidate(ctx context.Context, by Caller, a attempt.State) error {
	meta, err := s.Store.NewMeta(by.Actor, by.RequestID)
	if err != nil {
		return err
	}
	tip, err := eventstore.Execute(ctx, s.Store, eventstore.Instruments, eventstore.Instruments.Key(by.Account, string(a.Token)), meta,
		func(state instrument.State) (instrument.Event, error) {
			return instrument.DecideInvalidate(state, instrument.Invalidate{At: meta.At, Session: a.Session, Attempt: a.ID})
		})
	if err != nil || !tip.State.Exists() || tip.State.Good() {
		return err
	}
	s.discard(cardRef(tip.State))
	if err := s.Vault.DestroyKept(ctx, cardRef(tip.State)); err != nil { // of a card that was vaulted as it was tokenized
		return domain.Unavailable(err)
	}
	return nil
}
