package developer

import (
	"fmt"

	"payledger/httpapi/client"
)

// nextStep returns what the merchant can do with a payment: about its disputes, after a failed
// operation, or by its status.
func nextStep(p client.Payment, about disputes) string {
	if d := about.open(); d != nil {
		return d.step()
	}
	captured, refunded := int64(0), int64(0)
	if p.Processor != nil {
		captured, refunded = p.Processor.AmountCaptured, p.Processor.AmountRefunded
	}
	left := max(0, captured-refunded-refunding(p))
	returned := about.returned(p.CurrencyCode, left)
	if step := failedStep(p, left-returned); step != "" {
		return step
	}
	switch p.Status {
	case "PENDING":
		return pendingStep(p)
	case "AUTHORIZED":
		return "Capture " + money(p.Amount, p.CurrencyCode) + " or a part of it when the goods leave, or cancel: POST /payments/" + p.ID + "/capture or /cancel."
	case "SETTLING":
		return "Nothing: the processor confirms the capture, and a webhook PAYMENT.STATUS follows."
	case "PARTIALLY_SETTLED":
		return fmt.Sprintf("Capture up to %s more, or cancel the rest. %s can be refunded.", money(p.Amount-captured, p.CurrencyCode), money(left-returned, p.CurrencyCode))
	case "SETTLED":
		return settledStep(p, left, returned, about)
	case "DECLINED":
		return declinedStep(p.StatusReason)
	case "FAILED":
		return "The payment failed without a charge. Let the customer pay again with a new token; if it goes on, look at the processor's settings."
	case "CANCELLED":
		return "Nothing: the reserved amount is released. A new payment needs a new token."
	default:
		return "See the history."
	}
}

// settledStep returns the step of a payment of which left is not refunded. Disputes gave back
// returned of it.
func settledStep(p client.Payment, left, returned int64, about disputes) string {
	more := "refund up to " + money(left-returned, p.CurrencyCode) + ": POST /payments/" + p.ID + "/refund."
	switch {
	case left == 0 && refunding(p) > 0:
		return "Wait, and do not refund again: a refund of " + money(refunding(p), p.CurrencyCode) + " has no outcome yet. A webhook PAYMENT.REFUND follows."
	case left == 0:
		return "Nothing: the captured amount is refunded."
	case left == returned:
		return "Nothing: the dispute has already returned " + money(returned, p.CurrencyCode) + " to the customer. A refund would pay the customer a second time."
	case returned > 0:
		return "Nothing about the dispute: it has already returned " + money(returned, p.CurrencyCode) + " to the customer. If the customer returns something else, " + more
	case about.won():
		return "Nothing about the dispute: you won it, and the money stays with you. If the customer returns something, " + more
	}
	return "If the customer returns something, " + more
}

// failedStep returns the step after an operation that failed; "" if the newest one did not fail.
// refundable is in minor units.
func failedStep(p client.Payment, refundable int64) string {
	call := "POST /payments/" + p.ID
	again, look := " with another X-Idempotency-Key: "+call, " If it fails again, the history has the processor's answer."
	reserved := p.Status == "AUTHORIZED" || p.Status == "PARTIALLY_SETTLED"
	switch kind := newest(p); {
	case kind == "CAPTURE_FAILED" && reserved:
		return "The capture failed, and took no money; the amount stays reserved. Capture again" + again + "/capture. Or cancel: " + call + "/cancel." + look
	case kind == "CANCELLATION_FAILED" && reserved:
		return "The cancel failed; the amount stays reserved on the customer's card. Cancel again" + again + "/cancel. Or capture: " + call + "/capture." + look
	case kind == "REFUND_FAILED" && refundable > 0:
		return "The refund failed, and the customer got no money. Refund up to " + money(refundable, p.CurrencyCode) + " again" + again + "/refund." + look
	}
	return ""
}

// refunding returns the amount of refunds without an outcome, in minor units.
func refunding(p client.Payment) (sum int64) {
	for _, t := range p.Transactions {
		if t.Type == "REFUND" && t.Status == "PENDING" {
			sum += t.Amount
		}
	}
	return sum
}

func newest(p client.Payment) (kind string) {
	var at int64
	for _, t := range p.Transactions {
		for _, e := range t.Events {
			if then := e.Date.UnixNano(); then >= at {
				kind, at = e.Type, then
			}
		}
	}
	return kind
}

func pendingStep(p client.Payment) string {
	switch {
	case p.RequiredAction != nil:
		return "The customer must act (" + p.RequiredAction.Name + "): pass requiredAction.clientToken to the customer's browser, then send its resumeToken to POST /payments/" + p.ID + "/resume."
	case p.StatusReason != nil && p.StatusReason.Type == "GATEWAY_TIMEOUT":
		return "Wait, and do not pay again: the processor did not answer, and the service looks the outcome up until it is known. A webhook PAYMENT.STATUS follows."
	}
	return "Wait: the processor decides later, and a webhook PAYMENT.STATUS follows."
}

func declinedStep(r *client.StatusReason) string {
	advice := ""
	if r != nil {
		advice = r.AdvisedAction
	}
	switch advice {
	case "RETRY_LATER":
		return "Nothing was charged. The customer can try again later or with another card, each time with a new token (RETRY_LATER)."
	case "UPDATE_DATA":
		return "Nothing was charged. Ask the customer to correct the card's data (UPDATE_DATA)."
	case "STOP_ALL_PAYMENTS":
		return "Nothing was charged. Do not try this card again, and look at the customer's other payments (STOP_ALL_PAYMENTS)."
	}
	return "Nothing was charged. Do not try this card again; ask for another one (DO_NOT_RETRY)."
}
