package paymentpages

import (
	"net/url"
	"time"

	"payledger/domain/payment"
	"payledger/httpapi/dashboard/frame"
)

// refundField is the parameter of the message about a refund: the time of its request.
const refundField = "refund"

// values are the parameters that name a refund; none for nil.
func (t *transaction) values() url.Values {
	if t == nil {
		return nil
	}
	return frame.Query(refundField, t.Date.Format(time.RFC3339Nano))
}

// refundOf returns the refund that the operation added to the payment; nil if it added none, or if
// another one came beside it.
func (f form) refundOf(done operated) *transaction {
	var added *transaction
	for i, t := range done.Transactions {
		if f.Name != "refund" || t.TransactionType != "REFUND" || f.Payment.refundAt(t.Date) != nil {
			continue
		}
		if added != nil {
			return nil
		}
		added = &done.Transactions[i]
	}
	return added
}

// refundAt returns the refund that was requested at a time; nil for none, and for several.
func (p paymentData) refundAt(at time.Time) (found *transaction) {
	for i, t := range p.Transactions {
		if t.TransactionType != "REFUND" || !t.Date.Equal(at) {
			continue
		}
		if found != nil {
			return nil
		}
		found = &p.Transactions[i]
	}
	return found
}

// failed reports whether the operation failed, of which refund is the new refund, if it is known. A
// cancel may succeed at its second try (D7).
func (f form) failed(done operated, refund *transaction) bool {
	if refund != nil {
		return refund.ProcessorStatus == string(payment.StatusFailed)
	}
	if f.Name == "cancel" && done.Status == string(payment.StatusCancelled) {
		return false
	}
	return failures(done.Transactions, f.failure) > failures(f.Payment.Transactions, f.failure)
}

// refundSaid returns the message about a refund that the user has just sent, with the amount. The
// refund is named by the time of its request: the newest one on the page may be another one. It
// returns "" for a message about something else, and without such a refund.
func (p paymentData) refundSaid(done, requested string) string {
	rest := ""
	switch done {
	case "refunded":
	case "refund-risk":
		rest = " The payment has a dispute that is open or lost: the customer may get the money twice."
	default:
		return ""
	}
	at, err := time.Parse(time.RFC3339Nano, requested)
	t := p.refundAt(at)
	if err != nil || t == nil {
		return ""
	}
	switch amount := frame.Money(t.Amount, t.CurrencyCode); t.ProcessorStatus {
	case string(payment.StatusSettled):
		return amount + " was refunded." + rest
	case string(payment.StatusPending):
		return "The refund of " + amount + " was requested. The processor has not decided yet." + rest
	}
	return ""
}

// operated is the answer to an operation.
type operated struct {
	Status       string
	Warnings     []warning
	Transactions []transaction
}

// failures counts the transaction events of a type.
func failures(all []transaction, kind string) (n int) {
	for _, t := range all {
		for _, e := range t.Events {
			if e.Type == kind {
				n++
			}
		}
	}
	return n
}
