package paymentpages

import (
	"net/url"

	"payledger/domain/processor"
	"payledger/httpapi/dashboard/frame"
	"payledger/httpapi/nextstep"
)

type disputeRow struct {
	nextstep.Dispute
	Reason string
}

func plainDisputes(all []disputeRow) (out []nextstep.Dispute) {
	for _, d := range all {
		out = append(out, d.Dispute)
	}
	return out
}

func disputesOf(v *frame.Visit, payment string) ([]disputeRow, error) {
	var found struct{ Data []disputeRow }
	err := v.Get("/management/disputes", url.Values{"paymentId": {payment}}, &found)
	return found.Data, err
}

// warning is a warning of a refund (D22.2).
type warning struct{ Code string }

func (w warning) disputed() bool { return w.Code == "REFUND_OF_DISPUTED_PAYMENT" }

// BesideRefund reports whether a refund beside the dispute may pay the customer twice (D22.2).
func (d disputeRow) BesideRefund() bool { return d.Status.BesideRefund(d.Type) }

// Caution returns the warning about a refund beside the dispute; "" if the dispute does not matter
// to a refund.
func (d disputeRow) Caution() string {
	amount := frame.Money(d.Amount, d.Currency)
	switch {
	case d.Returned():
		return "The dispute has already returned " + amount + " to the customer. A refund of the same money pays the customer a second time."
	case d.Status == processor.DisputeWon:
		return "You won the dispute of " + amount + ": the money stays with you. A refund gives it to the customer all the same."
	case d.Status == processor.DisputeOpen && d.Type == processor.Retrieval:
		return "The customer's bank asks for information about this payment" + d.by() + ". A dispute may follow, which returns " + amount + " beside your refund."
	case d.Status == processor.DisputeOpen:
		return "The customer disputes this payment. Answer the dispute" + d.by() + ". If it is lost, it returns " + amount + " to the customer: with a refund, the customer gets the money twice."
	case d.Status == processor.DisputeChallenged && d.Type == processor.Retrieval:
		return "You answered the question of the customer's bank about this payment. A dispute may follow, which returns " + amount + " beside your refund."
	case d.Status == processor.DisputeChallenged:
		return "The bank decides about the dispute that you challenged. If it is lost, it returns " + amount + " to the customer: with a refund, the customer gets the money twice."
	}
	return ""
}

func (d disputeRow) by() string {
	if d.ChallengeRequiredBy == nil {
		return ""
	}
	return " by " + frame.When(*d.ChallengeRequiredBy)
}
