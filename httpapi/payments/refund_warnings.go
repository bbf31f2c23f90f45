package payments

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/httpapi/request"
	"payledger/projections/paymentjson"
)

// refundAnswer is the payment after a refund that has warnings.
type refundAnswer struct {
	paymentjson.Payment
	Warnings []refundWarning `json:"warnings"`
}

// refundWarning is an entry of the warnings of a refund.
type refundWarning struct {
	request.Warning
	Dispute *refundDispute `json:"dispute,omitempty"`
}

// refundDispute is the dispute of a warning. The amount is in minor units of Currency.
type refundDispute struct {
	ID                 domain.DisputeID        `json:"id"`
	ProcessorDisputeID string                  `json:"processorDisputeId"`
	Type               processor.DisputeType   `json:"type"`
	Status             processor.DisputeStatus `json:"status"`
	Amount             domain.Amount           `json:"amount"`
	Currency           domain.Currency         `json:"currency"`
}

// warningsTime is the longest time by which the reading of disputes delays the answer about a
// refund that is recorded.
const warningsTime = 2 * time.Second

// refundWarnings returns a warning for each dispute of the payment that is open or lost now, after
// the refund: a dispute that was opened during the refund counts (D22.2). The refund is recorded,
// so a failed reading is a warning, too.
//
// A refund that failed moved no money, and the warnings say so: they are about the next try.
func (h *Handlers) refundWarnings(c *request.Call, failed bool) (all []refundWarning) {
	ctx, cancel := context.WithTimeout(c.Ctx, warningsTime)
	defer cancel()
	found, err := h.Reader.DisputesBesideRefund(ctx, c.Merchant.ID, paymentID(c))
	if err != nil {
		return []refundWarning{{Warning: request.Warning{
			Type: "REFUND", Code: "DISPUTES_NOT_READ",
			Message: notStopped(failed) + "GET /management/disputes?paymentId=" + string(paymentID(c)) + " lists its disputes.",
		}}}
	}
	for _, d := range found {
		now := d.Current
		all = append(all, refundWarning{
			request.Warning{Type: "REFUND", Code: "REFUND_OF_DISPUTED_PAYMENT", Message: refundCaution(d, failed)},
			&refundDispute{d.ID, d.Subject.ProcessorDisputeID, now.Type, now.Status, now.Amount, now.Currency},
		})
	}
	return all
}

// failedRefund reports whether the newest refund of a payment failed.
func failedRefund(p payment.State) bool {
	var newest payment.Operation
	for op := range p.Each {
		if op.Kind == processor.Refund && op.OutOfBandID == "" && op.Revision > newest.Revision {
			newest = *op
		}
	}
	return newest.State == payment.StateFailed
}

func notStopped(failed bool) string {
	if failed {
		return "The refund failed and moved no money. Whether the payment has a dispute could not be read: look before you refund again. "
	}
	return "Whether the payment has a dispute could not be read. The refund was not stopped by that: the payment shows it. "
}

// refundCaution returns the warning about a dispute beside a refund. failed: the refund failed, and
// the warning is about another one.
func refundCaution(d dispute.State, failed bool) string {
	amount := d.Current.Amount.Format(d.Current.Currency)
	if failed {
		return failedCaution(d, amount)
	}
	switch {
	case d.Current.Status.ReturnsMoney(d.Current.Type):
		return "The dispute has already returned " + amount + " to the customer. If the refund is of the same money, the customer gets it twice."
	case d.Current.Type == processor.Retrieval:
		return "The customer's bank asks for information about the payment. A dispute may follow, which returns " + amount + " to the customer beside the refund."
	default:
		return "The dispute is not decided. If it is lost, it returns " + amount + " to the customer beside the refund."
	}
}

func failedCaution(d dispute.State, amount string) string {
	const none = "The refund failed and moved no money. Before you refund again: "
	switch {
	case d.Current.Status.ReturnsMoney(d.Current.Type):
		return none + "the dispute has already returned " + amount + " to the customer. A refund of the same money pays the customer a second time."
	case d.Current.Type == processor.Retrieval:
		return none + "the customer's bank asks for information about the payment. A dispute may follow, which returns " + amount + " to the customer."
	default:
		return none + "the dispute is not decided. If it is lost, it returns " + amount + " to the customer."
	}
}
