package books

import (
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// decideVoid releases the amount that is held and not captured. It refuses a void after the whole
// amount was captured (D7).
func decideVoid(s *sale) processor.Answer {
	switch {
	case s.phase == voided:
		return refuse(protocol.CodeAlreadyVoided, "the authorization was voided before")
	case s.phase == refused:
		return refuse(protocol.CodeNotAuthorized, "the authorization was not approved")
	case s.used() && s.rest() == 0:
		return refuse(protocol.CodeAlreadyCaptured, "nothing is left to release")
	case s.card.behaviour == voidFails:
		return refuse(protocol.CodeVoidRefused, "the void was rejected")
	}
	return processor.Answer{State: processor.Succeeded, ProcessorTransactionID: s.op.Answer.ProcessorTransactionID}
}

// applyVoid releases the rest. An authorization without a result ends FAILED with it.
func (b *Books) applyVoid(o *Operation, s *sale) {
	switch {
	case s.phase == awaiting:
		delete(b.pending, s.op.ID)
		failed := refuse(protocol.CodeVoided, "voided before it was approved")
		failed.ProcessorTransactionID, failed.ProcessorEventID = s.op.Answer.ProcessorTransactionID, o.Answer.ProcessorEventID
		failed.At = o.CreatedAt
		s.op.Answer, s.op.line, s.op.UpdatedAt = failed, processor.Failed, o.CreatedAt
	case s.phase == action:
		s.op.line, s.op.UpdatedAt = processor.Failed, o.CreatedAt
	}
	s.closed = true
	b.settles(s, o.CreatedAt)
	if !s.used() {
		s.phase = voided
	}
}
