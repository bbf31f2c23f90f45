package payment

import (
	"payledger/domain"
	"payledger/domain/processor"
)

// Status is the payment status of §3.1.
type Status string

const (
	StatusPending          Status = "PENDING"
	StatusFailed           Status = "FAILED"
	StatusAuthorized       Status = "AUTHORIZED"
	StatusSettling         Status = "SETTLING"
	StatusPartiallySettled Status = "PARTIALLY_SETTLED"
	StatusSettled          Status = "SETTLED"
	StatusDeclined         Status = "DECLINED"
	StatusCancelled        Status = "CANCELLED"
)

// Status derives the status from the facts (§3.1, D7):
//
//	newest authorize operation               status
//	none (not created)                       PENDING
//	REQUESTED, UNKNOWN, PENDING, ACTION      PENDING
//	DECLINED                                 DECLINED
//	FAILED                                   FAILED
//	VOIDED                                   CANCELLED
//	DECLINED, FAILED, VOIDED, and an amount  SETTLED: captured out of band (§6.3), and no capture can follow
//	is captured all the same
//	SUCCEEDED                                by its captures and voids:
//
//	captured  accepted, not   final and     released   status
//	          confirmed       confirmed     by a void
//	any       > 0             no            any        SETTLING
//	0         0               no            yes        CANCELLED
//	0         0               no            no         AUTHORIZED
//	> 0       0               yes           any        SETTLED
//	> 0       0               any           yes        SETTLED
//	all¹      0               any           any        SETTLED
//	> 0       any             otherwise                PARTIALLY_SETTLED
//
// ¹ or more: an out-of-band capture may be above the authorization (§6.3).
func (s State) Status() Status {
	op := s.Authorization()
	if op == nil {
		return StatusPending
	}
	switch op.State {
	case StateSucceeded:
		return s.settlement()
	case StateDeclined:
		return s.unlessCaptured(StatusDeclined)
	case StateFailed:
		return s.unlessCaptured(StatusFailed)
	case StateVoided:
		return s.unlessCaptured(StatusCancelled)
	default:
		return StatusPending
	}
}

// unlessCaptured returns the status of an authorization that ended without a hold; SETTLED if an
// amount was captured out of band.
func (s State) unlessCaptured(ended Status) Status {
	if s.Captured() > 0 {
		return StatusSettled
	}
	return ended
}

// EndedUnpaid reports whether no money was or will be taken, so that another payment may take its
// place.
func (s State) EndedUnpaid() bool { return s.Status().EndedUnpaid() }

// EndedUnpaid is State.EndedUnpaid of a payment with the status.
func (s Status) EndedUnpaid() bool {
	return s == StatusDeclined || s == StatusFailed || s == StatusCancelled
}

// settlement returns the status after a successful authorization: the lower half of Status's table.
func (s State) settlement() Status {
	captured, accepted := s.Captured(), s.sum(processor.Capture, pending) > 0
	final, released := s.Totals.Final, s.Totals.Released
	for _, op := range s.Operations {
		done := op.State == StateSucceeded
		final = final || done && op.Kind == processor.Capture && op.Final
		released = released || done && op.Kind == processor.Void
	}
	switch {
	case accepted && !final:
		return StatusSettling
	case captured == 0 && released:
		return StatusCancelled
	case captured == 0:
		return StatusAuthorized
	case !accepted && (final || released || captured >= s.Amount):
		return StatusSettled
	default:
		return StatusPartiallySettled
	}
}

// Reason explains a status that is not a success (D6: statusReason).
type Reason struct {
	Type          domain.Failure
	Decline       processor.Decline // set for ISSUER_DECLINED only
	ResultCode    string            // the processor's raw code
	ResultMessage string            // the processor's own wording
}

// StatusReason returns GATEWAY_TIMEOUT while any outcome is unknown (D8), else the reason of
// DECLINED and FAILED, else nil.
func (s State) StatusReason() *Reason {
	for _, op := range s.Operations {
		if op.State == StateUnknown {
			return &Reason{Type: domain.GatewayTimeout}
		}
	}
	op := s.Authorization()
	if op == nil || op.State != StateDeclined && op.State != StateFailed || s.Captured() > 0 {
		return nil
	}
	return op.Answer().Reason()
}

// Reason returns the reason of an unsuccessful answer; nil for any other.
func (a OperationAnswer) Reason() *Reason {
	switch {
	case a.State == StateDeclined, a.State == StateFailed && a.Failure == domain.IssuerDeclined:
		return &Reason{
			Type: domain.IssuerDeclined, Decline: processor.ExplainDecline(a.Code),
			ResultCode: a.Code, ResultMessage: a.Message,
		}
	case a.State == StateFailed:
		return &Reason{Type: a.Failure, ResultCode: a.Code, ResultMessage: a.Message}
	default:
		return nil
	}
}
