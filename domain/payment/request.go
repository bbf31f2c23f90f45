package payment

import (
	"errors"
	"time"

	"payledger/domain"
)

// ErrRunning means that another operation of the payment is running. The caller waits for it and decides again (D7).
var ErrRunning = errors.New("another operation of the payment is running")

// MaxFailures is the number of operations on a payment that may fail (D3: PaymentRequestLimitExceeded).
const MaxFailures = 100

const notFound = "The payment cannot be found."

// Request is the common part of all commands on an existing payment.
type Request struct {
	At             time.Time
	EventID        string // UUID of the new event and of its transaction event, if any (D6)
	IdempotencyKey string // "" for none
}

// keyHash returns the hash of the idempotency key that the payment stores (D9); "" without a key.
func (r Request) keyHash(s State) string {
	if r.IdempotencyKey == "" {
		return ""
	}
	return domain.KeyHash(s.Account, r.IdempotencyKey)
}

// checkRequest checks, in the order of D3, that the payment exists and that the key is new.
func (s State) checkRequest(r Request) error {
	if !s.Exists() {
		return NotFound()
	}
	if hash := r.keyHash(s); hash != "" && s.Used(hash) {
		return s.KeyUsed()
	}
	return nil
}

// NotFound returns the error for a command on a payment that does not exist (D3).
func NotFound() *domain.Error {
	return domain.Refuse(domain.KindInvalid, domain.ReasonPayment, notFound)
}

func (s State) conflict(reason domain.Reason, format string, args ...any) *domain.Error {
	err := domain.Refuse(domain.KindConflict, reason, format, args...)
	err.Payment, err.Status = s.ID, string(s.Status())
	return err
}

// KeyUsed returns the error for a repeated idempotency key (D9).
func (s State) KeyUsed() *domain.Error {
	err := s.conflict(domain.ReasonIdempotencyKeyExists, "The idempotency key was used before.")
	err.Recovery = "Read the payment to see the result of the first request."
	return err
}

// notIn returns the error for an operation that the status does not allow (D7).
func (s State) notIn(operation string) *domain.Error {
	return s.conflict(domain.ReasonInvalidPaymentStatus, "A payment that is %s cannot be %s.", s.Status(), operation)
}

func (s State) withinLimit() error {
	failed := s.Totals.Failures
	for _, op := range s.Operations {
		if op.State == StateFailed && op.Kind.Modifies() {
			failed++
		}
	}
	if failed < MaxFailures {
		return nil
	}
	return s.conflict(domain.ReasonPaymentRequestLimit, "%d operations on the payment have failed; it accepts no further operation.", MaxFailures)
}

// Full returns the error for an operation that does not fit into a state with hundreds of operations (D3).
func (s State) Full() error {
	return s.conflict(domain.ReasonPaymentRequestLimit, "The payment has %d operations, and no room for a further one of this kind.",
		s.Totals.Operations+len(s.Operations))
}

// merged returns an error if the payment's metadata, with the metadata that a request adds, exceeds its limits (D4).
func (s State) merged(model string, over domain.Metadata) error {
	if len(over) == 0 {
		return nil
	}
	if fault := domain.MergeMetadata(s.Metadata, over).Fault(); fault != "" {
		return domain.InvalidAt(model, "$.metadata", "%s, together with the payment's metadata", fault)
	}
	return nil
}
