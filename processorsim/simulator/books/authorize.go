package books

import (
	"fmt"
	"hash/fnv"
	"slices"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// decideAuthorize answers as D13's table says for the card. The amount 0 is an account verification
// (D5): no hold.
func (b *Books) decideAuthorize(op processor.Operation, d draft) (processor.Answer, *card) {
	row, of, known := cardOf(op)
	switch {
	case !known:
		refusal := refuse(protocol.CodeTokenUnknown, "the card's token is not known")
		refusal.Retryable = true // D15: another processor may have the card's number
		return refusal, nil
	case row == nil:
		return refuse(protocol.CodeCardNotSupported, "this card is not supported"), nil
	}
	answer := processor.Answer{
		ProcessorTransactionID: d.transaction(op.Processor), Bin: &row.bin, Risk: row.risk(op.Processor, of.CVV), CardTokenType: row.tokenType(op),
	}
	if domain.CardExpired(of.ExpirationMonth, of.ExpirationYear, d.at) {
		answer.State, answer.Code, answer.Message = processor.Declined, "54", "expired card"
		return answer, row
	}
	switch row.behaviour {
	case declines:
		answer.State, answer.Code, answer.Message, answer.ThreeDS = processor.Declined, row.code, row.message, row.threeDS
	case gatewayRejects:
		refusal := refuse(protocol.CodeGatewayRejected, row.message)
		refusal.Bin, refusal.Risk, refusal.CardTokenType = answer.Bin, answer.Risk, answer.CardTokenType
		return refusal, row
	case firstProcessorFails:
		if b.firstTry(op) {
			refusal := refuse(protocol.CodeTechnicalError, "technical error")
			refusal.Retryable = true // D15: the next processor's turn
			return refusal, row
		}
		answer = row.approve(op.Processor, answer)
	case challenges:
		answer.State, answer.ThreeDS, answer.ActionToken = processor.ActionRequired, "CHALLENGE", "act_"+d.id
	case asyncAuthorize:
		answer.State = processor.Pending
	default:
		answer = row.approve(op.Processor, answer)
	}
	return answer, row
}

// tokenType returns with what a card is charged; "" for its number.
func (c *card) tokenType(op processor.Operation) processor.CardTokenType {
	switch {
	case c.behaviour == networkToken:
		return processor.NetworkToken
	case op.Card.Token != "":
		return processor.ProcessorToken
	}
	return ""
}

// firstTry reports whether op goes to the first processor that was tried for its reference (D13).
func (b *Books) firstTry(op processor.Operation) bool {
	tries := b.byReference[op.Reference]
	i := slices.IndexFunc(tries, func(o *Operation) bool { return o.Kind == processor.Authorize })
	return i < 0 || tries[i].Processor == op.Processor
}

// approve completes the answer to an approved authorization. Three processors give an authorization
// code (D13).
func (c *card) approve(name processor.Name, answer processor.Answer) processor.Answer {
	answer.State, answer.ActionToken = processor.Succeeded, ""
	switch {
	case c.behaviour == challenges:
		answer.ThreeDS = "AUTH_SUCCESS"
	case c.threeDS != "":
		answer.ThreeDS = c.threeDS
	}
	if name == processor.Adyen || name == processor.Checkout || name == processor.Worldpay {
		answer.AuthorizationCode = authorizationCode(answer.ProcessorTransactionID)
	}
	if answer.Risk != nil {
		answer.Risk = new(*answer.Risk)
		answer.Risk.FraudPost = "ACCEPT"
	}
	return answer
}

func authorizationCode(transaction string) string {
	h := fnv.New32a()
	h.Write([]byte(transaction))
	return fmt.Sprintf("%06d", h.Sum32()%1_000_000)
}

func (b *Books) applyAuthorize(o *Operation) error {
	if o.Answer.ProcessorTransactionID == "" {
		return nil
	}
	row, ok := cardsByName[o.Card]
	if !ok {
		return fmt.Errorf("authorization %s names no card row", o.ID)
	}
	s := &sale{op: o, card: row, phase: refused}
	switch o.Answer.State {
	case processor.Succeeded:
		s.approve(o.Amount)
	case processor.Pending:
		s.phase = awaiting
	case processor.ActionRequired:
		s.phase = action
	}
	b.sales[o.Answer.ProcessorTransactionID] = s
	return nil
}

func (s *sale) approve(amount domain.Amount) { s.phase, s.authorized = approved, amount }

func (b *Books) finishAuthorize(o *Operation) {
	s := b.sales[o.Answer.ProcessorTransactionID]
	if o.Answer.State == processor.Succeeded {
		s.approve(o.Amount)
	} else {
		s.phase = refused
	}
}
