package nextstep

import (
	"fmt"

	"payledger/domain"
	"payledger/httpapi/client"
)

// Reader is the reader of an advice.
type Reader struct {
	Money func(domain.Amount, domain.Currency) string // writes an amount of minor units
	Calls bool                                        // the advice names calls of the API and their fields
}

// call returns text for a reader of calls; "" for others.
func (r Reader) call(text string) string {
	if r.Calls {
		return text
	}
	return ""
}

// about is a payment with its disputes and amounts.
type about struct {
	Reader
	client.Payment
	disputes       []Dispute
	captured       domain.Amount
	left, returned domain.Amount // not refunded, and the part of it that disputes gave back
}

// Of returns the next step of the merchant with a payment: about its disputes, after a failed
// operation, or by its status. The payment has the events of its transactions.
func (r Reader) Of(p client.Payment, disputes []Dispute) string {
	if d := open(disputes); d != nil {
		return r.dispute(*d)
	}
	a := about{Reader: r, Payment: p, disputes: disputes}
	if p.Processor != nil {
		a.captured, a.left = domain.Amount(p.Processor.AmountCaptured), domain.Amount(p.Processor.AmountRefunded)
	}
	a.left = max(0, a.captured-a.left-refunding(p))
	a.returned = Returned(disputes, a.left, domain.Currency(p.CurrencyCode))
	if step := a.failed(); step != "" {
		return step
	}
	switch p.Status {
	case "PENDING":
		return a.pending()
	case "AUTHORIZED":
		return "Capture " + a.money(domain.Amount(p.Amount)) + " or a part of it when the goods leave, or cancel" + a.call(": "+a.path("/capture")+" or /cancel") + "."
	case "SETTLING":
		return "Nothing: the processor confirms the capture, and a webhook PAYMENT.STATUS follows."
	case "PARTIALLY_SETTLED":
		return fmt.Sprintf("Capture up to %s more, or cancel the rest. %s can be refunded.", a.money(domain.Amount(p.Amount)-a.captured), a.money(a.left-a.returned))
	case "SETTLED":
		return a.settled()
	case "DECLINED":
		return a.declined()
	case "FAILED":
		return "The payment failed without a charge. Let the customer pay again" + a.call(" with a new token") + "; if it goes on, look at the processor's settings."
	case "CANCELLED":
		return "Nothing: the reserved amount is released." + a.call(" A new payment needs a new token.")
	default:
		return "See the history."
	}
}

func (a about) money(amount domain.Amount) string {
	return a.Money(amount, domain.Currency(a.CurrencyCode))
}

func (a about) path(operation string) string { return "POST /payments/" + a.ID + operation }

func (a about) settled() string {
	more := "refund up to " + a.money(a.left-a.returned) + a.call(": "+a.path("/refund")) + "."
	switch {
	case a.left == 0 && refunding(a.Payment) > 0:
		return "Wait, and do not refund again: a refund of " + a.money(refunding(a.Payment)) + " has no outcome yet. A webhook PAYMENT.REFUND follows."
	case a.left == 0:
		return "Nothing: the captured amount is refunded."
	case a.left == a.returned:
		return "Nothing: the dispute has already returned " + a.money(a.returned) + " to the customer. A refund would pay the customer a second time."
	case a.returned > 0:
		return "Nothing about the dispute: it has already returned " + a.money(a.returned) + " to the customer. If the customer returns something else, " + more
	case won(a.disputes):
		return "Nothing about the dispute: you won it, and the money stays with you. If the customer returns something, " + more
	}
	return "If the customer returns something, " + more
}

// failed returns the step after an operation that failed; "" if the newest one did not fail.
func (a about) failed() string {
	again := func(operation string) string {
		return " again" + a.call(" with another X-Idempotency-Key: "+a.path(operation))
	}
	or := func(operation string) string { return a.call(": " + a.path(operation)) }
	const look = " If it fails again, the history has the processor's answer."
	reserved := a.Status == "AUTHORIZED" || a.Status == "PARTIALLY_SETTLED"
	switch kind := newest(a.Payment); {
	case kind == "CANCELLATION_FAILED" && reserved && a.unanswered():
		return "Wait: the cancel failed, and the processor has not answered the operation that followed. The service looks its outcome up until it is known."
	case kind == "CAPTURE_FAILED" && reserved:
		return "The capture failed, and took no money; the amount stays reserved. Capture" + again("/capture") + ". Or cancel" + or("/cancel") + "." + look
	case kind == "CANCELLATION_FAILED" && reserved:
		return "The cancel failed; the amount stays reserved on the customer's card. Cancel" + again("/cancel") + ". Or capture" + or("/capture") + "." + look
	case kind == "CANCELLATION_FAILED" && a.Status == "PENDING":
		return "Wait: the cancel failed, and is tried again when the processor answers, at the latest when it approves the payment. A webhook PAYMENT.STATUS follows."
	case kind == "REFUND_FAILED" && a.left > a.returned:
		return "The refund failed, and the customer got no money. Refund up to " + a.money(a.left-a.returned) + again("/refund") + "." + look
	}
	return ""
}

// unanswered reports whether the payment timeout of an operation without an outcome is over.
func (a about) unanswered() bool {
	return a.StatusReason != nil && a.StatusReason.Type == string(domain.GatewayTimeout)
}

// refunding returns the amount of refunds without an outcome.
func refunding(p client.Payment) (sum domain.Amount) {
	for _, t := range p.Transactions {
		if t.Type == "REFUND" && t.Status == "PENDING" {
			sum += domain.Amount(t.Amount)
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

func (a about) pending() string {
	switch {
	case a.RequiredAction != nil && a.Calls:
		return "The customer must act (" + a.RequiredAction.Name + "): pass requiredAction.clientToken to the customer's browser, then send its resumeToken to " + a.path("/resume") + "."
	case a.RequiredAction != nil:
		return "Wait for the customer, who must act in the browser (" + a.RequiredAction.Name + "). The shop shows the action, and the payment goes on after it."
	case a.unanswered():
		return "Wait, and do not pay again: the processor did not answer, and the service looks the outcome up until it is known. A webhook PAYMENT.STATUS follows."
	}
	return "Wait: the processor decides later, and a webhook PAYMENT.STATUS follows."
}

func (a about) declined() string {
	advice := ""
	if a.StatusReason != nil {
		advice = a.StatusReason.AdvisedAction
	}
	switch advice {
	case "RETRY_LATER":
		return "Nothing was charged. The customer can try again later or with another card" + a.call(", each time with a new token") + " (RETRY_LATER)."
	case "UPDATE_DATA":
		return "Nothing was charged. Ask the customer to correct the card's data (UPDATE_DATA)."
	case "STOP_ALL_PAYMENTS":
		return "Nothing was charged. Do not try this card again, and look at the customer's other payments (STOP_ALL_PAYMENTS)."
	}
	return "Nothing was charged. Do not try this card again; ask for another one (DO_NOT_RETRY)."
}
