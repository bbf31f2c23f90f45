package books

import (
	"fmt"
	"slices"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// Refused is the error of an act that the rules of the books refuse.
type Refused struct {
	Code    protocol.Code
	Message string
}

func (r *Refused) Error() string { return fmt.Sprintf("%s: %s", r.Code, r.Message) }

// Act captures, refunds or voids the newest approved authorization of a reference out of band
// (D14.14): at once, whatever the card, under its own key. A nil amount means the whole amount
// left. A refused act adds no line and is a *Refused.
func (b *Books) Act(kind processor.Kind, reference domain.PaymentID, amount *domain.Amount) (line protocol.Line, err error) {
	err = b.durably(func() error {
		s, err := b.newestSale(reference)
		if err == nil {
			line, err = b.act(kind, s, amount)
		}
		return err
	})
	return line, err
}

// act decides and writes, under mu.
func (b *Books) act(kind processor.Kind, s *sale, amount *domain.Amount) (protocol.Line, error) {
	d, err := b.newDraft()
	if err != nil {
		return protocol.Line{}, err
	}
	plain := *s
	plain.card = cardsByName["visa-1"] // the card's habits concern the service's own operations only
	op := processor.Operation{
		Kind: kind, Key: domain.OperationKey("sim." + d.id), Processor: s.op.Processor, MerchantID: s.op.MerchantID,
		Reference: s.op.Reference, ParentID: s.op.Answer.ProcessorTransactionID, Currency: s.op.Currency,
	}
	var answer processor.Answer
	switch kind {
	case processor.Capture:
		op.Amount = orAll(amount, s.rest())
		op.Final = op.Amount == s.rest()
		answer = decideCapture(op, &plain, d)
	case processor.Refund:
		op.Amount = orAll(amount, s.captured-s.refunded)
		answer = decideRefundOf(op, &plain, s.captured-s.refunded, d)
	case processor.Void:
		op.Amount = s.rest()
		answer = decideVoid(&plain)
	default:
		return protocol.Line{}, fmt.Errorf("books: %s is no act of the control API", kind)
	}
	if answer.State != processor.Succeeded {
		return protocol.Line{}, &Refused{answer.Code, answer.Message}
	}
	o := b.operation(op, d, answer)
	o.Card = s.card.name
	if err := b.write(record{Type: accepted, At: d.at, Operation: o}); err != nil {
		return protocol.Line{}, err
	}
	return o.Line(), nil
}

func orAll(amount *domain.Amount, all domain.Amount) domain.Amount {
	if amount != nil {
		return *amount
	}
	return all
}

func (b *Books) newestSale(reference domain.PaymentID) (*sale, error) {
	for _, o := range slices.Backward(b.byReference[reference]) {
		if o.Kind != processor.Authorize {
			continue
		}
		if s, ok := b.sales[o.Answer.ProcessorTransactionID]; ok && (s.phase == approved || s.phase == voided) {
			return s, nil
		}
	}
	return nil, &Refused{protocol.CodeParentNotFound, "no approved authorization of this reference"}
}
