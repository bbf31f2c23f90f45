package payment

import (
	"errors"
	"time"

	"payledger/domain"
)

// ErrRunning means that another operation of the payment has no outcome yet: the command waits for it and
// is decided again (D7).
var ErrRunning = errors.New("another operation of the payment is running")

// MaxFailures is how many capture, cancel, refund and adjust operations of one payment may fail (D3:
// PaymentRequestLimitExceeded).
const MaxFailures = 100

// Request is what every later operation on a payment brings.
type Request struct {
	At             time.Time
	EventID        string // UUID of the event to be, and of the transaction event it may be (D6)
	IdempotencyKey string // "" for none
}

// keyHash is what the payment remembers of the key (D9).
func (r Request) keyHash(s State) string {
	if r.IdempotencyKey == "" {
		return ""
	}
	return domain.KeyHash(s.Account, r.IdempotencyKey)
}

// admit runs the guards that come before the status, in the order of D3: the payment is known, the key is
// new.
func (s State) admit(r Request) error {
	if !s.Exists() {
		return Unknown()
	}
	if hash := r.keyHash(s); hash != "" && s.Used(hash) {
		return s.KeyUsed()
	}
	return nil
}

// Unknown refuses what is asked of a payment that does not exist (D3).
func Unknown() *domain.Error {
	return domain.Refuse(domain.KindInvalid, domain.ReasonPayment, "The payment cannot be found.")
}

// KeyUsed refuses a repeated idempotency key (D9).
func (s State) KeyUsed() *domain.Error {
	err := domain.Refuse(domain.KindConflict, domain.ReasonIdempotencyKeyExists, "The idempotency key was used before.")
	err.Recovery = "Read the payment to see what became of the first request."
	err.Payment, err.Status = s.ID, string(s.Status())
	return err
}

// notIn refuses an operation that the status does not allow (D7). Nothing is recorded.
func (s State) notIn(operation string) *domain.Error {
	err := domain.Refuse(domain.KindConflict, domain.ReasonInvalidPaymentStatus,
		"A payment that is %s cannot be %s.", s.Status(), operation)
	err.Payment, err.Status = s.ID, string(s.Status())
	return err
}

// withinLimit refuses a further operation after MaxFailures (D3).
func (s State) withinLimit() error {
	failed := s.Totals.Failures
	for _, op := range s.Operations {
		if op.State == StateFailed && counted(op) {
			failed++
		}
	}
	if failed < MaxFailures {
		return nil
	}
	return s.limited("%d operations on the payment have failed; no further one is taken.", MaxFailures)
}

// Full is the refusal of an operation for which the payment has no room: it has hundreds already (D3).
func (s State) Full() error {
	return s.limited("%d operations were made on the payment, which leaves no room for one of this kind.", s.Totals.Operations+len(s.Operations))
}

func (s State) limited(text string, n int) error {
	err := domain.Refuse(domain.KindConflict, domain.ReasonPaymentRequestLimit, text, n)
	err.Payment, err.Status = s.ID, string(s.Status())
	return err
}

// merged checks metadata that a request adds: what a payment may hold is limited (D4).
func (s State) merged(model string, over domain.Metadata) error {
	if len(over) == 0 {
		return nil
	}
	if fault := domain.MergeMetadata(s.Metadata, over).Fault(); fault != "" {
		return domain.Invalid(model, domain.Violation{Path: "$.metadata", Description: fault + ", with what the payment has"})
	}
	return nil
}
