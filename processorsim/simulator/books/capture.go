package books

import (
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

func decideCapture(op processor.Operation, s *sale, d draft) processor.Answer {
	switch {
	case op.Amount < 1:
		return refuse(protocol.CodeInvalidAmount, "nothing to capture")
	case s.phase == voided:
		return refuse(protocol.CodeAlreadyVoided, "the authorization was voided")
	case s.phase != approved:
		return refuse(protocol.CodeNotAuthorized, "the authorization is not approved")
	case op.Amount > s.rest():
		return refuse(protocol.CodeAboveAuthorized, "more than is left of the authorization")
	}
	answer := processor.Answer{State: processor.Succeeded, ProcessorTransactionID: d.transaction(op.Processor)}
	if s.card.behaviour == asyncCapture || s.card.behaviour == captureFails {
		answer.State = processor.Pending // D13: the result comes after asyncDelay
	}
	return answer
}

func (b *Books) applyCapture(o *Operation, s *sale) {
	if o.Answer.State == processor.Succeeded {
		s.captured += o.Amount
	} else {
		s.capturing += o.Amount
	}
	s.closed = s.closed || o.Final
	b.settles(s, o.CreatedAt)
	b.captures[o.Answer.ProcessorTransactionID] = &capture{op: o, sale: s, state: o.Answer.State}
}

// finishCapture confirms a capture, or takes it back: then the rest that a final one released is
// held again.
func (b *Books) finishCapture(o *Operation) {
	c := b.captures[o.Answer.ProcessorTransactionID]
	c.state = o.Answer.State
	c.sale.capturing -= o.Amount
	if c.state == processor.Succeeded {
		c.sale.captured += o.Amount
	} else if o.Final {
		c.sale.closed = false
	}
	b.settles(c.sale, o.UpdatedAt)
}
