package dialect

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/dialects"
	"payledger/processorsim/protocol"
)

// Write returns the dispute in its processor's words. A processor without words of its own has the
// protocol's form.
func Write(d protocol.Dispute) json.RawMessage {
	write, has := writers[d.Processor]
	if !has {
		write = plain
	}
	text, err := json.Marshal(write(d))
	if err != nil { // no value of this package fails to encode
		panic(err)
	}
	return text
}

type object map[string]any

var writers = map[processor.Name]func(protocol.Dispute) object{
	processor.Adyen: adyen, processor.Braintree: braintree, processor.Checkout: checkout,
	processor.PayPal: paypal, processor.Stripe: stripe, processor.Worldpay: worldpay,
}

func plain(d protocol.Dispute) object {
	o := object{
		"processorDisputeId": d.ID, "processorMerchantId": d.ProcessorMerchantID, "processorTransactionId": d.ProcessorTransactionID,
		"disputeType": d.Type, "status": d.Status, "reasonCode": d.ReasonCode, "processorReason": wording(d),
		"amount": d.Amount, "currency": d.Currency, "at": d.UpdatedAt,
	}
	if open(d) {
		o["challengeRequiredBy"] = d.ChallengeRequiredBy
	}
	return o
}

func adyen(d protocol.Dispute) object {
	o := object{
		"disputePspReference": d.ID, "merchantAccountCode": d.ProcessorMerchantID, "merchantReference": d.Reference,
		"paymentPspReference": d.ProcessorTransactionID, "disputeType": dialects.Stages[d.Processor][d.Type],
		"disputeStatus": dialects.Statuses[d.Processor][d.Status], "reason": wording(d), "reasonCode": d.ReasonCode,
		"disputedAmount": object{"value": d.Amount, "currency": d.Currency},
		"eventDate":      d.UpdatedAt.In(amsterdam).Format(offsetLayout),
	}
	if open(d) {
		o["defensePeriodEndsAt"] = d.ChallengeRequiredBy.In(amsterdam).Format(offsetLayout)
	}
	return o
}

// amsterdam is a fixed offset: what matters is that it is not UTC.
var amsterdam = time.FixedZone("CET", 3600)

const offsetLayout = "2006-01-02T15:04:05.000000-07:00"

func braintree(d protocol.Dispute) object {
	o := object{
		"id": d.ID, "merchant_account_id": d.ProcessorMerchantID, "order_id": d.Reference,
		"transaction": object{"id": d.ProcessorTransactionID}, "kind": dialects.Stages[d.Processor][d.Type],
		"status": dialects.Statuses[d.Processor][d.Status], "reason": wording(d), "reason_code": strings.ReplaceAll(d.ReasonCode, ".", "_"),
		"amount_disputed": decimal(d.Amount, d.Currency), "currency_iso_code": d.Currency, "updated_at": d.UpdatedAt,
	}
	if open(d) {
		o["reply_by_date"] = d.ChallengeRequiredBy.Format(time.DateOnly)
	}
	return o
}

func checkout(d protocol.Dispute) object {
	o := object{
		"id": d.ID, "entity_id": d.ProcessorMerchantID, "payment_reference": d.Reference,
		"payment_id": d.ProcessorTransactionID, "stage": dialects.Stages[d.Processor][d.Type],
		"status": dialects.Statuses[d.Processor][d.Status], "category": wording(d), "reason_code": d.ReasonCode,
		"amount": d.Amount, "currency": d.Currency, "last_update": d.UpdatedAt,
	}
	if open(d) {
		o["evidence_required_by"] = d.ChallengeRequiredBy.Format(time.RFC3339)
	}
	return o
}

func paypal(d protocol.Dispute) object {
	o := object{
		"dispute_id": d.ID, "seller": object{"merchant_id": d.ProcessorMerchantID},
		"disputed_transactions":    []object{{"seller_transaction_id": d.ProcessorTransactionID, "invoice_number": d.Reference}},
		"dispute_life_cycle_stage": dialects.Stages[d.Processor][d.Type], "reason": wording(d),
		"external_reason_code": "CARD/" + d.ReasonCode, "update_time": d.UpdatedAt,
		"dispute_amount": object{"value": decimal(d.Amount, d.Currency), "currency_code": d.Currency},
	}
	o["status"] = dialects.Statuses[d.Processor][d.Status]
	if outcome, resolved := dialects.Outcomes[d.Status]; resolved {
		o["status"], o["dispute_outcome"] = "RESOLVED", object{"outcome_code": outcome}
	}
	if open(d) && d.Type != processor.Retrieval {
		o["seller_response_due_date"] = d.ChallengeRequiredBy.Format("2006-01-02T15:04:05.000Z")
	}
	return o
}

func stripe(d protocol.Dispute) object {
	o := object{
		"id": d.ID, "account": d.ProcessorMerchantID, "metadata": object{"reference": d.Reference},
		"charge": d.ProcessorTransactionID, "status": dialects.Stages[d.Processor][d.Type] + dialects.Statuses[d.Processor][d.Status],
		"reason": wording(d), "network_reason_code": d.ReasonCode,
		"amount": d.Amount, "currency": strings.ToLower(string(d.Currency)), "updated_micros": d.UpdatedAt.UnixMicro(),
	}
	if open(d) {
		o["evidence_details"] = object{"due_by": d.ChallengeRequiredBy.Unix()}
	}
	return o
}

func worldpay(d protocol.Dispute) object {
	o := object{
		"caseNumber": d.ID, "merchantCode": d.ProcessorMerchantID, "orderCode": d.Reference,
		"transactionReference": d.ProcessorTransactionID, "stage": dialects.Stages[d.Processor][d.Type],
		"event": dialects.Statuses[d.Processor][d.Status], "reasonText": wording(d), "reason": "RC-" + d.ReasonCode,
		"value": object{"amount": d.Amount, "exponent": d.Currency.Digits(), "currencyCode": d.Currency},
		"date":  d.UpdatedAt.Format("02/01/2006 15:04:05.000000"),
	}
	if open(d) {
		o["respondBy"] = d.ChallengeRequiredBy.Format("02/01/2006")
	}
	return o
}

func open(d protocol.Dispute) bool { return d.Status == processor.DisputeOpen }

func decimal(a domain.Amount, c domain.Currency) string {
	text, digits := fmt.Sprintf("%0*d", c.Digits()+1, a), c.Digits()
	if digits == 0 {
		return text
	}
	return text[:len(text)-digits] + "." + text[len(text)-digits:]
}
