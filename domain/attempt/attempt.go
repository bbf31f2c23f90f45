// Package attempt is the payment attempt aggregate: a payment of a MANUAL session that waits for the merchant to
// approve or abort it (§2.6, §3.3, D5, D12).
//
// Rules: an attempt is decided once; whoever decides first wins, and a repeat of the same decision changes nothing.
// It expires with its session's token, which records nothing. What a decision asks for (the payment, or the end of
// the token) is done after it is durable, by whoever gets there, and is then recorded as completed: an attempt that
// is decided and not completed is work left over by a crash. An approval whose payment can never be made ends as an
// abort does: refused is such an end, and after it nobody makes the payment.
//
// What it must not know: how a payment is made. It keeps which revision of the session was approved, so that a
// payment made later is the one that the merchant meant.
package attempt

import (
	"time"

	"payledger/domain"
)

// Status is the approvalStatus of D12.
type Status string

// The statuses of an attempt.
const (
	RequiresApproval Status = "REQUIRES_APPROVAL"
	Approved         Status = "APPROVED"
	Aborted          Status = "ABORTED"
	Expired          Status = "EXPIRED"
)

// State is the attempt as its events made it.
type State struct {
	ID        domain.AttemptID `json:"id"`
	Account   domain.AccountID `json:"accountId"`
	Revision  uint64           `json:"revision"`
	CreatedAt time.Time        `json:"createdAt"`
	UpdatedAt time.Time        `json:"updatedAt"`
	ExpiresAt time.Time        `json:"expiresAt"` // its session's
	Session   domain.SessionID `json:"sessionId"`
	Token     domain.Token     `json:"paymentMethodToken"`
	Shown     *domain.Price    `json:"shown,omitempty"`    // what the customer saw; nil: not told
	Decision  Status           `json:"decision,omitempty"` // APPROVED or ABORTED; a refusal makes the one the other
	DecidedAt time.Time        `json:"decidedAt"`
	Reason    string           `json:"reason,omitempty"`          // of an abort or a refusal
	Payment   domain.PaymentID `json:"paymentId,omitempty"`       // of an approval
	Terms     uint64           `json:"sessionRevision,omitempty"` // of an approval: what of the session counts
	Done      bool             `json:"completed,omitempty"`
	TokenKept bool             `json:"tokenKept,omitempty"` // of an abort: the token may still pay
}

// Exists reports whether the attempt was made.
func (s State) Exists() bool { return s.Revision > 0 }

// Status returns the status at a time.
func (s State) Status(now time.Time) Status {
	switch {
	case s.Decision != "":
		return s.Decision
	case !now.Before(s.ExpiresAt):
		return Expired
	default:
		return RequiresApproval
	}
}

// Due reports whether something is left to do about the decision.
func (s State) Due() bool { return s.Decision != "" && !s.Done }

// Event is a fact about an attempt.
type Event interface {
	domain.Event
	attemptEvent()
}

// Events lists every event type.
func Events() []Event { return []Event{Created{}, WasApproved{}, WasAborted{}, Completed{}, Refused{}} }

// Created says that a customer asks to pay with a token.
type Created struct {
	At        time.Time        `json:"at"`
	ID        domain.AttemptID `json:"id"`
	Account   domain.AccountID `json:"accountId"`
	ExpiresAt time.Time        `json:"expiresAt"`
	Session   domain.SessionID `json:"sessionId"`
	Token     domain.Token     `json:"paymentMethodToken"`
	Shown     *domain.Price    `json:"shown,omitempty"` // the price that the customer agreed to (D12); nil: not told
}

// WasApproved says that the merchant approved: the payment of this id is made from the session as it was at that
// revision.
type WasApproved struct {
	At      time.Time        `json:"at"`
	Payment domain.PaymentID `json:"paymentId"`
	Terms   uint64           `json:"sessionRevision"`
}

// WasAborted says that there will be no payment, and, unless it is kept, that the token made in the session is good for
// nothing any more.
type WasAborted struct {
	At        time.Time `json:"at"`
	Reason    string    `json:"reason,omitempty"`
	TokenKept bool      `json:"tokenKept,omitempty"` // another attempt of the session is made with it
}

// Completed says that what was decided is done: the payment stands, or the token has ended.
type Completed struct {
	At time.Time `json:"at"`
}

// Refused says that the approved payment could not be made, and never will be: the attempt counts as aborted.
type Refused struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

func (Created) Type() string      { return "attempt.created" }
func (WasApproved) Type() string  { return "attempt.approved" }
func (WasAborted) Type() string   { return "attempt.aborted" }
func (Completed) Type() string    { return "attempt.completed" }
func (Refused) Type() string      { return "attempt.refused" }
func (Created) attemptEvent()     {}
func (WasApproved) attemptEvent() {}
func (WasAborted) attemptEvent()  {}
func (Completed) attemptEvent()   {}
func (Refused) attemptEvent()     {}

// Evolve folds one event into the state.
func Evolve(s State, e Event) State {
	s.Revision++
	switch e := e.(type) {
	case Created:
		s.ID, s.Account, s.Session, s.Token, s.Shown = e.ID, e.Account, e.Session, e.Token, e.Shown
		s.CreatedAt, s.UpdatedAt, s.ExpiresAt = e.At, e.At, e.ExpiresAt
	case WasApproved:
		s.Decision, s.DecidedAt, s.UpdatedAt = Approved, e.At, e.At
		s.Payment, s.Terms = e.Payment, e.Terms
	case WasAborted:
		s.Decision, s.DecidedAt, s.UpdatedAt = Aborted, e.At, e.At
		s.Reason, s.TokenKept = e.Reason, e.TokenKept
	case Completed:
		s.Done, s.UpdatedAt = true, e.At
	case Refused:
		s.Decision, s.Payment, s.Reason = Aborted, "", e.Reason
		s.Done, s.TokenKept, s.UpdatedAt = true, true, e.At
	}
	return s
}
