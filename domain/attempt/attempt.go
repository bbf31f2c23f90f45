package attempt

import (
	"time"

	"payledger/domain"
)

// Status is the approvalStatus of D12.
type Status string

const (
	RequiresApproval Status = "REQUIRES_APPROVAL"
	Approved         Status = "APPROVED"
	Aborted          Status = "ABORTED"
	Expired          Status = "EXPIRED"
)

// State is the state of an attempt after its events.
type State struct {
	ID        domain.AttemptID `json:"id"`
	Account   domain.AccountID `json:"accountId"`
	Revision  uint64           `json:"revision"`
	CreatedAt time.Time        `json:"createdAt"`
	UpdatedAt time.Time        `json:"updatedAt"`
	ExpiresAt time.Time        `json:"expiresAt"` // its session's
	Session   domain.SessionID `json:"sessionId"`
	Token     domain.Token     `json:"paymentMethodToken"`
	Shown     *domain.Price    `json:"shown,omitempty"`    // the price that the customer saw; nil: unknown
	Decision  Status           `json:"decision,omitempty"` // APPROVED or ABORTED; a refusal changes APPROVED to ABORTED
	DecidedAt time.Time        `json:"decidedAt,omitzero"`
	Reason    string           `json:"reason,omitempty"`          // of an abort or a refusal
	Payment   domain.PaymentID `json:"paymentId,omitempty"`       // of an approval
	Terms     uint64           `json:"sessionRevision,omitempty"` // of an approval: the approved revision
	Done      bool             `json:"completed,omitempty"`
	TokenKept bool             `json:"tokenKept,omitempty"` // of an abort: the token stays valid
}

// Exists reports whether the attempt was created.
func (s State) Exists() bool { return s.Revision > 0 }

// Status returns the approvalStatus at a time (D12).
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

// Due reports whether the decision's consequence is not completed.
func (s State) Due() bool { return s.Decision != "" && !s.Done }

// Event is a fact about an attempt.
type Event interface {
	domain.Event
	attemptEvent()
}

// Events lists every event type.
func Events() []Event { return []Event{Created{}, WasApproved{}, WasAborted{}, Completed{}, Refused{}} }

// Created says that a customer wants to pay with a token.
type Created struct {
	At        time.Time        `json:"at"`                 // when it was decided, UTC
	ID        domain.AttemptID `json:"id"`                 // the new attempt
	Account   domain.AccountID `json:"accountId"`          // the merchant account
	ExpiresAt time.Time        `json:"expiresAt"`          // the end of its session, UTC; no approval is possible from then on (D12)
	Session   domain.SessionID `json:"sessionId"`          // the customer's session
	Token     domain.Token     `json:"paymentMethodToken"` // the token to pay with
	Shown     *domain.Price    `json:"shown,omitempty"`    // the price that the customer accepted (D12); nil: unknown
}

// WasApproved says that the merchant approved the payment of this id with the session's data at
// that revision.
type WasApproved struct {
	At      time.Time        `json:"at"`              // when it was decided, UTC
	Payment domain.PaymentID `json:"paymentId"`       // the payment that the approval creates (§3.3)
	Terms   uint64           `json:"sessionRevision"` // revision of the session that was approved
}

// WasAborted says that there will be no payment. The session's token ends, unless tokenKept is set.
type WasAborted struct {
	At        time.Time `json:"at"`                  // when it was decided, UTC
	Reason    string    `json:"reason,omitempty"`    // the merchant's own text
	TokenKept bool      `json:"tokenKept,omitempty"` // another attempt of the session uses it
}

// Completed says that the decision's consequence is done: the payment exists, or the token has
// ended.
type Completed struct {
	At time.Time `json:"at"` // when it was decided, UTC
}

// Refused says that the approved payment can never be created: the attempt counts as aborted.
type Refused struct {
	At     time.Time `json:"at"`     // when it was decided, UTC
	Reason string    `json:"reason"` // why the payment cannot be created
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

// Evolve returns the state after the event.
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
