package payment

import (
	"fmt"

	"payledger/domain"
	"payledger/domain/processor"
)

// Capture is the command to take money that is held (D10).
type Capture struct {
	Request
	Amount   *domain.Amount // nil: the capturable amount
	Final    bool           // no capture follows; the rest of the authorization is released
	Metadata domain.Metadata
	Order    *domain.Order // the captured items; only recorded (D21)
}

const captureModel = "PaymentCapture"

// DecideCapture returns CaptureRequested, or CaptureRefused for an amount above the capturable
// amount (D7).
func DecideCapture(s State, c Capture) (Event, error) {
	if err := s.checkRequest(c.Request); err != nil {
		return nil, err
	}
	if _, busy := s.blockingOperation(); busy {
		return nil, ErrRunning
	}
	if status := s.Status(); status != StatusAuthorized && status != StatusPartiallySettled || s.closed() {
		return nil, s.notIn("captured")
	}
	if err := s.withinLimit(processor.Capture, c.At); err != nil {
		return nil, err
	}
	left := s.Capturable()
	amount := left
	if c.Amount != nil {
		amount = *c.Amount
	}
	switch {
	case amount < 1 && left < 1:
		return nil, domain.InvalidAt(captureModel, "$.amount", "nothing can be captured: %s is captured of an authorization of %s",
			s.Captured().Format(s.Currency), s.Amount.Format(s.Currency))
	case amount < 1:
		return nil, domain.InvalidAt(captureModel, "$.amount", "must be at least 1 minor unit")
	case amount > left:
		return CaptureRefused{
			At: c.At, EventID: c.EventID, Amount: amount, Final: c.Final, KeyHash: c.keyHash(s),
			Message: fmt.Sprintf("%s is left to capture; %s was requested.", left.Format(s.Currency), amount.Format(s.Currency)),
		}, nil
	}
	if err := s.merged(captureModel, c.Metadata); err != nil {
		return nil, err
	}
	return CaptureRequested{At: c.At, Amount: amount, Final: c.Final, Metadata: c.Metadata, Order: c.Order, KeyHash: c.keyHash(s)}, nil
}

// Refusal returns the error for a request that was recorded as refused by our own rules (D7).
func (e CaptureRefused) Refusal(s State) error {
	err := domain.InvalidAt(captureModel, "$.amount", "%s", e.Message)
	err.Recovery = "Capture at most the amount left, or omit amount to capture all of it. Use a new X-Idempotency-Key."
	err.Payment, err.Status = s.ID, string(s.Status())
	return err
}

func (s State) captureRequested(e CaptureRequested) State {
	s.Metadata = domain.MergeMetadata(s.Metadata, e.Metadata)
	return s.withKey(e.KeyHash).request(Operation{
		Kind: processor.Capture, Amount: e.Amount, Final: e.Final, Parent: s.newestAuthorization().Revision, RequestedAt: e.At,
	})
}

func (s State) captureRefused(e CaptureRefused) State {
	return s.withKey(e.KeyHash).refused(e.EventID, e.Message, Operation{
		Kind: processor.Capture, Amount: e.Amount, Final: e.Final, Parent: s.newestAuthorization().Revision, RequestedAt: e.At,
	})
}
