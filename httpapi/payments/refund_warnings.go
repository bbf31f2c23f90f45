package payments

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/dispute"
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

// warningsTime is the longest time by which the reading of disputes delays the answer about a refund that is recorded.
const warningsTime = 2 * time.Second

// refundWarnings returns a warning for each dispute of the payment that is open or lost now, after the refund: a dispute that
// was opened during the refund counts (D22.2). The refund is recorded, so a failed reading is a warning, too.
func (h *Handlers) refundWarnings(c *request.Call) (all []refundWarning) {
	ctx, cancel := context.WithTimeout(c.Ctx, warningsTime)
	defer cancel()
	found, err := h.Reader.DisputesBesideRefund(ctx, c.Merchant.ID, paymentID(c))
	if err != nil {
		return []refundWarning{{Warning: request.Warning{
			Type: "REFUND", Code: "DISPUTES_NOT_READ",
			Message: "Whether the payment has a dispute could not be read. The refund was not stopped by that: the payment shows it. GET /management/disputes?paymentId=" + string(paymentID(c)) + " lists its disputes.",
		}}}
	}
	for _, d := range found {
		now := d.Current
		all = append(all, refundWarning{
			request.Warning{Type: "REFUND", Code: "REFUND_OF_DISPUTED_PAYMENT", Message: refundCaution(d)},
			&refundDispute{d.ID, d.Subject.ProcessorDisputeID, now.Type, now.Status, now.Amount, now.Currency},
		})
	}
	return all
}

func refundCaution(d dispute.State) string {
	amount := d.Current.Amount.Format(d.Current.Currency)
	switch {
	case d.Current.Status.ReturnsMoney(d.Current.Type):
		return "The dispute has already returned " + amount + " to the customer. If the refund is of the same money, the customer gets it twice."
	case d.Current.Type == processor.Retrieval:
		return "The customer's bank asks for information about the payment. A dispute may follow, which returns " + amount + " to the customer beside the refund."
	default:
		return "The dispute is not decided. If it is lost, it returns " + amount + " to the customer beside the refund."
	}
}
