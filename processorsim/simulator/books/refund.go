package books

import (
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// decideRefund refunds the whole sale or one capture (D10: a targeted refund). Pending refunds
// count.
func (b *Books) decideRefund(op processor.Operation, d draft) (processor.Answer, *card) {
	s, rest, ok := b.refundable(op)
	if !ok {
		return refuse(protocol.CodeParentNotFound, "no such authorization or capture"), nil
	}
	return decideRefundOf(op, s, rest, d), s.card
}

func decideRefundOf(op processor.Operation, s *sale, rest domain.Amount, d draft) processor.Answer {
	switch {
	case op.Currency != s.op.Currency:
		return refuse(protocol.CodeCurrencyMismatch, "not the currency of the authorization")
	case op.Amount < 1:
		return refuse(protocol.CodeInvalidAmount, "nothing to refund")
	case op.Amount > rest:
		return refuse(protocol.CodeAboveCaptured, "more than is left to refund")
	}
	answer := processor.Answer{State: processor.Succeeded, ProcessorTransactionID: d.transaction(op.Processor)}
	if s.card.behaviour == refundFails {
		answer.State = processor.Pending // D13: FAILED after asyncDelay
	}
	return answer
}

// refundable returns the sale or capture that op refunds, and its refundable amount: for a capture,
// at most its sale's.
func (b *Books) refundable(op processor.Operation) (s *sale, rest domain.Amount, ok bool) {
	if s, ok := b.saleOf(op); ok {
		return s, s.captured - s.refunded, true
	}
	c, ok := b.captures[op.ParentID]
	if !ok || c.op.Processor != op.Processor || c.op.Reference != op.Reference {
		return nil, 0, false
	}
	if c.state != processor.Succeeded {
		return c.sale, 0, true
	}
	return c.sale, min(c.op.Amount-c.refunded, c.sale.captured-c.sale.refunded), true
}

func (b *Books) addRefund(o *Operation, amount domain.Amount) error {
	if c, ok := b.captures[o.ParentID]; ok {
		c.refunded += amount
		c.sale.refunded += amount
		return nil
	}
	s, err := b.parent(o)
	if err == nil {
		s.refunded += amount
	}
	return err
}
