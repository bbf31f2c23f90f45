package payment

import (
	"errors"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// ErrRunning means that another operation of the payment is running. The caller waits for it and
// decides again (D7).
var ErrRunning = errors.New("another operation of the payment is running")

// MaxFailures is the number of failures at the processor, and of refusals by our own rules, with
// which an operation on a payment ends for FailureRest; other operations do not end (D22.11:
// PaymentRequestLimitExceeded).
const (
	MaxFailures = 100
	FailureRest = 24 * time.Hour
)

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
	return domain.Refuse(domain.KindNotFound, domain.ReasonPayment, notFound)
}

func (s State) conflict(reason domain.Reason, format string, args ...any) *domain.Error {
	err := domain.Refuse(domain.KindConflict, reason, format, args...)
	err.Payment, err.Status = s.ID, string(s.Status())
	return err
}

// KeyOfNoPayment is the advice about a used key whose payment will never be created.
const KeyOfNoPayment = "The first request made no payment, and will make none. Send the request with another X-Idempotency-Key."

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

// plurals are the operations in the text of an error.
var plurals = map[processor.Kind]string{
	processor.Capture: "captures", processor.Void: "cancellations", processor.Refund: "refunds", processor.Adjust: "adjustments",
}

// withinLimit returns an error if the operation has ended because of its failures (D22.11).
func (s State) withinLimit(kind processor.Kind, at time.Time) error {
	failed := s.Totals.Failures
	for _, op := range s.Operations {
		if op.State == StateFailed && op.Kind.Modifies() {
			failed++
		}
	}
	if failed < MaxFailures { // of all operations: most payments end here, without a look at Past
		return nil
	}
	until, why := s.endedUntil(kind, false), "failed at the processor"
	if own := s.endedUntil(kind, true); own.After(until) {
		until, why = own, "were refused by the rules of the ledger"
	}
	if !at.Before(until) {
		return nil
	}
	err := s.conflict(domain.ReasonPaymentRequestLimit, "%d %s of the payment %s. Further %s are accepted from %s; other operations are not affected.",
		MaxFailures, plurals[kind], why, plurals[kind], until.UTC().Format("2006-01-02T15:04:05.000000Z"))
	err.Recovery = "Do not repeat the request before that time. GET /payments/{id}/events shows what was tried and why it failed."
	return err
}

// endedUntil returns the time from which an operation is accepted again after its newest
// MaxFailures; zero: it has not ended. Failures while it is ended do not count. refused: count the
// refusals by our own rules, and not the failures at the processor.
func (s State) endedUntil(kind processor.Kind, refused bool) (until time.Time) {
	var failures []time.Time
	for op := range s.Each {
		if op.Kind == kind && op.State == StateFailed && op.Refused == refused {
			failures = append(failures, op.Answer().At)
		}
	}
	slices.SortFunc(failures, time.Time.Compare)
	count := 0
	for _, at := range failures {
		if at.Before(until) {
			continue
		}
		if count++; count == MaxFailures {
			until, count = at.Add(FailureRest), 0
		}
	}
	return until
}

// Full returns the error for an operation that does not fit into a state with hundreds of
// operations (D3).
func (s State) Full() error {
	return s.conflict(domain.ReasonPaymentRequestLimit, "The payment has %d operations, and no room for a further one of this kind.",
		s.Totals.Operations+len(s.Operations))
}

// merged returns an error if the payment's metadata, with the metadata that a request adds, exceeds
// its limits (D4).
func (s State) merged(model string, over domain.Metadata) error {
	if len(over) == 0 {
		return nil
	}
	if fault := domain.MergeMetadata(s.Metadata, over).Fault(); fault != "" {
		return domain.InvalidAt(model, "$.metadata", "%s, together with the payment's metadata", fault)
	}
	return nil
}
