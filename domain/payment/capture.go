package payment

import (
	"payledger/domain"
	"payledger/domain/processor"
)

// Capture asks to take held money (D10).
type Capture struct {
	Request
	Amount   *domain.Amount // nil: all that is left
	Final    bool
	Metadata domain.Metadata
	Order    *domain.Order // what is captured; recorded only (D21)
}

const captureModel = "PaymentCapture"

// DecideCapture requests the capture, or records that our books refuse it (D7: above what is left).
func DecideCapture(s State, c Capture) (Event, error) {
	if err := s.admit(c.Request); err != nil {
		return nil, err
	}
	if _, busy := s.running(); busy {
		return nil, ErrRunning
	}
	if status := s.Status(); status != StatusAuthorized && status != StatusPartiallySettled || s.closed() {
		return nil, s.notIn("captured")
	}
	if err := s.withinLimit(); err != nil {
		return nil, err
	}
	amount := s.Capturable()
	if c.Amount != nil {
		amount = *c.Amount
	}
	switch {
	case amount < 1 && s.Capturable() < 1:
		return nil, domain.Invalid(captureModel, domain.Violation{Path: "$.amount", Description: "there is nothing to capture"})
	case amount < 1:
		return nil, domain.Invalid(captureModel, domain.Violation{Path: "$.amount", Description: "must be at least 1"})
	case amount > s.Capturable():
		return CaptureRefused{
			At: c.At, EventID: c.EventID, Amount: amount, Final: c.Final, KeyHash: c.keyHash(s),
			Message: "The amount is above what is left of the authorization.",
		}, nil
	}
	if err := s.merged(captureModel, c.Metadata); err != nil {
		return nil, err
	}
	return CaptureRequested{At: c.At, Amount: amount, Final: c.Final, Metadata: c.Metadata, Order: c.Order, KeyHash: c.keyHash(s)}, nil
}

// Refusal is what the caller is answered whose attempt our books refused (D7).
func (e CaptureRefused) Refusal(s State) error {
	err := domain.Invalid(captureModel, domain.Violation{
		Path: "$.amount", Description: "is above what is left of the authorization",
	})
	err.Recovery = "Capture at most what is left; without amount all of it is captured. Use another X-Idempotency-Key."
	err.Payment, err.Status = s.ID, string(s.Status())
	return err
}

func captureAnswer(c RecordAnswer) Event {
	switch {
	case c.Answer.State == processor.Succeeded:
		return Captured{c.fact()}
	case c.Answer.State == processor.Pending:
		return CapturePending{c.fact()}
	case refusedByProcessor(c.Answer):
		return CaptureFailed{c.failed()}
	default:
		return nil
	}
}

func (s State) captureRequested(e CaptureRequested) State {
	s.Metadata = domain.MergeMetadata(s.Metadata, e.Metadata)
	return s.withKey(e.KeyHash).request(Operation{
		Kind: processor.Capture, Amount: e.Amount, Final: e.Final, Parent: s.held().Revision, RequestedAt: e.At,
	})
}

func (s State) captureRefused(e CaptureRefused) State {
	return s.withKey(e.KeyHash).request(Operation{
		Kind: processor.Capture, Amount: e.Amount, Final: e.Final, Parent: s.held().Revision, RequestedAt: e.At,
		State: StateFailed, Refused: true, Answers: []OperationAnswer{{
			EventID: e.EventID, At: e.At, State: StateFailed, Message: e.Message, Failure: domain.ApplicationError,
		}},
	})
}
