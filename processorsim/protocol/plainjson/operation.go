package plainjson

import "payledger/domain/processor"

// ReadOperation reads a plain operation. ok is false for any other text.
func ReadOperation(body []byte) (op processor.Operation, ok bool) {
	r := newReader(body, nil)
	text(r, "operation", &op.Kind)
	text(r, "processorMerchantId", &op.MerchantID)
	text(r, "reference", &op.Reference)
	text(r, "parentId", &op.ParentID)
	number(r, "amount", &op.Amount)
	text(r, "currency", &op.Currency)
	r.truth("final", &op.Final)
	if r.object("card") {
		op.Card = &processor.Card{}
		text(r, "number", &op.Card.Number)
		text(r, "cvv", &op.Card.CVV)
		text(r, "expirationMonth", &op.Card.ExpirationMonth)
		text(r, "expirationYear", &op.Card.ExpirationYear)
		text(r, "cardholderName", &op.Card.CardholderName)
		text(r, "processorToken", &op.Card.Token)
		r.end()
	}
	r.truth("tokenize", &op.Tokenize)
	text(r, "authorizationType", &op.AuthorizationType)
	text(r, "paymentType", &op.PaymentType)
	text(r, "firstPaymentReason", &op.FirstPaymentReason)
	text(r, "descriptor", &op.Descriptor)
	text(r, "outcome", &op.Outcome)
	text(r, "notifyUrl", &op.NotifyURL)
	text(r, "returnUrl", &op.ReturnURL)
	if !r.done() {
		return processor.Operation{}, false
	}
	return op, true
}
