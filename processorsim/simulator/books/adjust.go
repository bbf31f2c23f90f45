package books

import (
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// decideAdjust sets a new total of an authorization without captures (D10). The same total succeeds
// and changes nothing.
func decideAdjust(op processor.Operation, s *sale) processor.Answer {
	switch {
	case op.Amount < 1:
		return refuse(protocol.CodeInvalidAmount, "the new total must be at least 1")
	case s.phase == voided:
		return refuse(protocol.CodeAlreadyVoided, "the authorization was voided")
	case s.phase != approved:
		return refuse(protocol.CodeNotAuthorized, "the authorization is not approved")
	case s.used() || s.closed:
		return refuse(protocol.CodeAlreadyCaptured, "something is captured")
	}
	return processor.Answer{State: processor.Succeeded, ProcessorTransactionID: s.op.Answer.ProcessorTransactionID}
}
