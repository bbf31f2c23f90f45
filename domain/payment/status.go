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
//	newest authorize operation     status
//	REQUESTED, UNKNOWN, PENDING    PENDING
//	SUCCEEDED                      AUTHORIZED
//	DECLINED                       DECLINED
//	FAILED                         FAILED
//	none (not created)             PENDING
func (s State) Status() Status {
	op := s.Authorization()
	if op == nil {
		return StatusPending
	}
	switch op.State {
	case StateSucceeded:
		return StatusAuthorized
	case StateDeclined:
		return StatusDeclined
	case StateFailed:
		return StatusFailed
	default:
		return StatusPending
	}
}

// Reason explains a status that is not a success (D6: statusReason).
type Reason struct {
	Type          domain.Failure
	Decline       processor.Decline // set for ISSUER_DECLINED only
	ResultCode    string            // the processor's raw code
	ResultMessage string            // the processor's own wording
}

// StatusReason gives the reason of DECLINED and FAILED, and GATEWAY_TIMEOUT while an outcome is being
// asked for (D8); nil otherwise.
func (s State) StatusReason() *Reason {
	op := s.Authorization()
	if op == nil {
		return nil
	}
	if op.State == StateUnknown {
		return &Reason{Type: domain.GatewayTimeout}
	}
	return op.Answer().Reason()
}

// Reason explains an answer that is not a success; nil for one that is.
func (a OperationAnswer) Reason() *Reason {
	switch a.State {
	case StateDeclined:
		return &Reason{
			Type: domain.IssuerDeclined, Decline: processor.ExplainDecline(a.Code),
			ResultCode: a.Code, ResultMessage: a.Message,
		}
	case StateFailed:
		return &Reason{Type: a.Failure, ResultCode: a.Code, ResultMessage: a.Message}
	default:
		return nil
	}
}
