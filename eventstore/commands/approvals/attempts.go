package approvals

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/payments"
)

// AttemptInput is a customer's request to pay in a MANUAL session (D12).
type AttemptInput struct {
	Session domain.SessionID
	Token   domain.Token
	Shown   *domain.Price // the price that the customer saw; nil: unknown
}

// Attempt loads a payment attempt. An unknown attempt is refused (D3).
func (s *Approvals) Attempt(ctx context.Context, account domain.AccountID, id domain.AttemptID) (attempt.State, error) {
	tip, err := s.Log.Attempts.Load(ctx, account, id, eventstore.Latest)
	if err == nil && !tip.State.Exists() {
		err = attempt.NotFound()
	}
	return tip.State, err
}

// AmountChanged reports whether a pending attempt's price differs from the session's: its customer
// must confirm the new price (D12).
func (s *Approvals) AmountChanged(ctx context.Context, a attempt.State) (bool, error) {
	if a.Shown == nil || a.Status(s.Store.Now()) != attempt.RequiresApproval {
		return false, nil
	}
	from, err := s.Sessions.Session(ctx, a.Account, a.Session)
	return err == nil && !payments.AsShown(a.Shown, from), err
}

// StartAttempt creates the payment attempt of a MANUAL session; a repeat with the same token
// returns the same attempt (D12). A pending attempt with another token is aborted: a session has
// one active attempt (§2.5).
func (s *Approvals) StartAttempt(ctx context.Context, by commands.Caller, in AttemptInput) (attempt.State, error) {
	return commands.Retry(func() (attempt.State, bool, error) { return s.startAttempt(ctx, by, in) })
}

// startAttempt tries once. moved reports that another attempt was started meanwhile. An attempt
// that no session names is invisible and cannot be approved. A repeat returns the attempt in which
// its token waits or has paid (D5.18). A vaulted token pays again in the session only if the first
// payment ended unpaid (D5.19).
func (s *Approvals) startAttempt(ctx context.Context, by commands.Caller, in AttemptInput) (made attempt.State, moved bool, err error) {
	from, err := s.Sessions.Session(ctx, by.Account, in.Session)
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
	if repeat, err := s.answers(ctx, before, in, waits); repeat || err != nil {
		return before, false, err
	}
	id := domain.NewAttemptID(from.ID, in.Token, in.Shown, from.Attempts)
	if err := s.Payments.CheckToken(ctx, by.Account, s.approved(id, from, in)); err != nil {
		if before.Decision == attempt.Approved && before.Token == in.Token && domain.ReasonOf(err) == domain.ReasonPayment {
			return before, false, nil // a repeat: the attempt has paid meanwhile
		}
		return made, false, err
	}
	ctx = context.WithoutCancel(ctx)
	if made, err = s.recordAttempt(ctx, by, from, id, in); err != nil {
		return made, false, err
	}
	if waits {
		if decided, err := s.supersedeAttempt(ctx, by, before, in.Token); decided || err != nil {
			return made, decided, err
		}
	}
	if moved, err = s.nameAttempt(ctx, by, from, id); moved && err == nil {
		_, err = s.supersedeAttempt(ctx, by, made, made.Token)
	}
	return made, moved, err
}

// supersedeAttempt aborts an attempt that another one replaces, and ends its token, unless the
// token is vaulted or is the replacement's. decided reports that the attempt was decided meanwhile;
// that decision stands.
func (s *Approvals) supersedeAttempt(ctx context.Context, by commands.Caller, before attempt.State, instead domain.Token) (decided bool, err error) {
	kept := before.Token == instead
	if !kept {
		inst, err := s.Log.Instruments.Load(ctx, by.Account, before.Token, eventstore.Latest)
		if err != nil {
			return false, err
		}
		kept = inst.State.Vaulted()
	}
	_, err = s.abort(ctx, by, before.ID, attempt.Abort{Reason: "Another payment attempt was started.", TokenKept: kept})
	if domain.ReasonOf(err) == domain.ReasonAttemptNotPending {
		return true, nil
	}
	return false, err
}

// answers reports whether an attempt is the answer to a repeated request: it is pending at the
// price that the customer sees, or its payment has not ended unpaid. Beside such a payment, another
// token is refused (D5.19).
func (s *Approvals) answers(ctx context.Context, made attempt.State, in AttemptInput, waits bool) (bool, error) {
	if made.Decision != attempt.Approved {
		same := in.Shown == nil || made.Shown != nil && *made.Shown == *in.Shown
		return waits && made.Token == in.Token && same, nil
	}
	tip, err := s.Log.Payments.Load(ctx, made.Account, made.Payment, eventstore.Latest)
	switch {
	case err != nil || tip.State.EndedUnpaid():
		return false, err
	case made.Token == in.Token:
		return true, nil
	}
	paid := tip.State
	paid.ID = made.Payment // also if it is not created yet
	return false, payments.SessionPaid(paid)
}

// current loads the attempt that the session names, and completes an interrupted decision if
// possible. If the session names none, it returns the zero state, which has expired.
func (s *Approvals) current(ctx context.Context, by commands.Caller, from session.State) (attempt.State, error) {
	if from.Attempt == "" {
		return attempt.State{}, nil
	}
	named, err := s.Attempt(ctx, from.Account, from.Attempt)
	if err != nil || !named.Due() {
		return named, err
	}
	done, err := s.finish(context.WithoutCancel(ctx), by, named)
	if err != nil { // left to recovery
		s.Logger.Debug().Err(err).Str("paymentAttempt", string(named.ID)).Msg("decision not carried out by the next attempt")
	}
	return done, nil
}

// approved returns the approval that the attempt would get now.
func (s *Approvals) approved(id domain.AttemptID, from session.State, in AttemptInput) payments.Approval {
	return payments.Approval{Payment: domain.PaymentIDForAttempt(from.Account, id), Token: in.Token, Shown: in.Shown, At: s.Store.Now(), Session: from}
}

func (s *Approvals) recordAttempt(ctx context.Context, by commands.Caller, from session.State, id domain.AttemptID, in AttemptInput) (attempt.State, error) {
	tip, err := commands.Request(ctx, s.Base, by, s.Log.Attempts.ExecuteNew, id, func(state attempt.State, at time.Time) (attempt.Event, error) {
		return attempt.DecideCreate(state, attempt.Create{Created: attempt.Created{
			At: at, ID: id, Account: by.Account, ExpiresAt: from.ExpiresAt, Session: from.ID, Token: in.Token, Shown: in.Shown,
		}})
	})
	return tip.State, err
}

func (s *Approvals) nameAttempt(ctx context.Context, by commands.Caller, from session.State, id domain.AttemptID) (moved bool, err error) {
	_, err = commands.Request(ctx, s.Base, by, s.Log.Sessions.Execute, from.ID, func(state session.State, at time.Time) (e session.Event, err error) {
		e, moved, err = session.DecideStartAttempt(state, session.StartAttempt{At: at, Attempt: id, Before: from.Attempts})
		return e, err
	})
	return moved, err
}
