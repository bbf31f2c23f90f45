package books

import (
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// decideComplete ends a challenge: passed approves the authorization, failed declines it (D13),
// under its transaction id.
func decideComplete(op processor.Operation, s *sale) processor.Answer {
	if s.phase != action {
		return refuse(protocol.CodeNoActionPending, "the authorization waits for no action")
	}
	answer := s.op.Answer
	if op.Outcome == processor.Authenticated {
		return s.card.approve(op.Processor, answer)
	}
	answer.State, answer.ActionToken, answer.ThreeDS = processor.Declined, "", "AUTH_FAILED"
	answer.Code, answer.Message = protocol.CodeAuthenticationError, "authentication failed"
	return answer
}

// applyComplete decides the authorization and its line (D14.16). A repeat still gets the required
// action, a look-up the result.
func applyComplete(o *Operation, s *sale) {
	if o.Answer.State == processor.Succeeded {
		s.approve(s.op.Amount)
	} else {
		s.phase = refused
	}
	s.op.line, s.op.UpdatedAt, s.op.ended = o.Answer.State, o.CreatedAt, &o.Answer
}
