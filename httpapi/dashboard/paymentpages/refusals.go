package paymentpages

import (
	"net/http"
	"strings"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/httpapi/dashboard/frame"
)

var past = map[string]string{"capture": "captured", "refund": "refunded", "cancel": "cancelled"}

const markedField = "Correct the field that is marked, and send the form again."

// shortage returns the reason why an amount cannot be captured or refunded.
func (f *form) shortage(amount domain.Amount) string {
	c := f.Payment.CurrencyCode
	if f.Left == 0 {
		return "Nothing is left to " + f.api + "."
	}
	return "Only " + frame.Money(f.Left, c) + " is left to " + f.api + "; " + frame.Money(amount, c) + " is too much."
}

// explain puts a refusal into the words of the page: the API's are for programs.
func (f *form) explain(err error) {
	switch domain.Reason(frame.IDOf(err)) {
	case domain.ReasonInvalidPaymentStatus:
		if frame.StatusOf(err) == http.StatusConflict { // a dispute forbids it (D22.2)
			f.Refusal.Text = "Your account refuses the refund of a payment that has a dispute that is open or lost: the customer may get the money twice."
			f.Refusal.Advice = "Wait until the dispute is won or withdrawn. An administrator can switch this off on the page Settings: “Refuse refunds of payments with a dispute that is open or lost”."
			return
		}
		f.Refusal.Text = "The payment is " + plainStatus(f.Payment) + ", and cannot be " + past[f.Name] + "."
		f.Refusal.Advice = advice(f.Name, payment.Status(f.Payment.Status))
	case domain.ReasonRequestValidation:
		if len(f.Faults) > 0 {
			f.Refusal.Text, f.Refusal.Advice = markedField, ""
		}
	case domain.ReasonUnprocessableRefundAmount, domain.ReasonPaymentAlreadyRefunded:
		f.Refusal.Stated = true
		f.Refusal.Text = "No money was moved. The refusal is recorded in the timeline, and your endpoints get the webhook PAYMENT.REFUND.FAILED. " + f.Refusal.Text
	}
}

// advice returns the next step for a payment whose status does not allow an operation (D7).
func advice(operation string, status payment.Status) string {
	ended := status == payment.StatusCancelled || status == payment.StatusDeclined || status == payment.StatusFailed
	switch operation {
	case "cancel":
		if status == payment.StatusSettled {
			return "A settled payment is refunded, not cancelled."
		}
		return "Nothing is reserved on the card, so nothing is left to cancel."
	case "capture":
		switch {
		case ended:
			return "Nothing is reserved on the card. To charge the customer, a new payment is needed."
		case status == payment.StatusPending:
			return "It can be captured when it is authorized."
		case status == payment.StatusSettling:
			return "A capture has no result yet. Decide when it has one."
		}
		return "All is captured, or the rest was released. To charge more, a new payment of the difference is needed."
	default:
		if ended {
			return "Nothing was captured, so nothing is left to refund."
		}
		return "Nothing is captured yet. Cancel the payment to release what is reserved."
	}
}

func plainStatus(p paymentData) string { return strings.ToLower(frame.Plain(p.Status)) }
