package export

import (
	"encoding/json"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/projections/paymentjson"
)

// Event is one event of the feed, as package eventjson writes it (I2), with the payment or the
// dispute after it.
type Event struct {
	Position    uint64               `json:"position"`
	ID          string               `json:"id"`
	Type        string               `json:"type"`
	Time        paymentjson.Time     `json:"time"`
	Account     domain.AccountID     `json:"accountId"`
	Aggregate   string               `json:"aggregate"`
	AggregateID string               `json:"aggregateId"`
	Revision    uint64               `json:"revision"`
	Actor       string               `json:"actor"`
	Hash        string               `json:"hash"`
	Fact        json.RawMessage      `json:"event"`
	Payment     *paymentjson.Payment `json:"payment"`
	AmountHeld  domain.Amount        `json:"amountHeld"` // of the payment
	Dispute     *Dispute             `json:"dispute"`
}

// Dispute is a dispute after an event.
type Dispute struct {
	ID        domain.DisputeID `json:"id"`
	CreatedAt paymentjson.Time `json:"createdAt"`
	UpdatedAt paymentjson.Time `json:"updatedAt"`
	Subject   struct {
		Payment            domain.PaymentID `json:"paymentId"`
		OrderID            string           `json:"orderId"`
		Processor          processor.Name   `json:"processor"`
		ProcessorDisputeID string           `json:"processorDisputeId"`
	} `json:"subject"`
	Current struct {
		Type       processor.DisputeType   `json:"type"`
		Status     processor.DisputeStatus `json:"status"`
		Reason     string                  `json:"reason"`
		ReasonCode string                  `json:"reasonCode"`
		Amount     domain.Amount           `json:"amount"`
		Currency   domain.Currency         `json:"currency"`
	} `json:"current"`
}

func (e Event) row() EventRow {
	return EventRow{
		Position: int64(e.Position), ID: e.ID, Time: e.Time.Time, Type: e.Type, Account: string(e.Account), Aggregate: e.Aggregate,
		AggregateID: e.AggregateID, Revision: int64(e.Revision), Actor: e.Actor, Hash: e.Hash, Event: string(e.Fact),
	}
}

func (e Event) paymentRow(before PaymentRow) (PaymentRow, error) {
	p := e.Payment
	row := PaymentRow{
		ID: string(p.ID), Position: int64(e.Position), Account: string(e.Account), Revision: int64(e.Revision),
		CreatedAt: p.Date.Time, UpdatedAt: p.DateUpdated.Time, AuthorizedAt: before.AuthorizedAt, CapturedAt: before.CapturedAt,
		Status: string(p.Status), OrderID: p.OrderID, CustomerID: p.CustomerID, Currency: string(p.CurrencyCode),
		Exponent: int64(p.CurrencyCode.Digits()), Amount: int64(p.Amount), PaymentMethodType: p.PaymentMethod.PaymentMethodType,
		Network: string(p.PaymentMethod.PaymentMethodData.Network),
	}
	why := reason(p.StatusReason)
	row.ReasonType, row.DeclineType, row.DeclineCode = string(why.Type), why.DeclineType, why.Code
	if of := p.Processor; of != nil {
		row.Processor, row.ProcessorMerchantID = string(of.Name), of.ProcessorMerchantID
		row.AmountCaptured, row.AmountRefunded = int64(of.AmountCaptured), int64(of.AmountRefunded)
	}
	row.AmountHeld = int64(e.AmountHeld)
	authorized := row.AmountHeld+row.AmountCaptured > 0 || p.Status == payment.StatusAuthorized // an amount of 0 is authorized without a hold (D5.9)
	if row.AuthorizedAt.IsZero() && authorized {
		row.AuthorizedAt = e.Time.Time
	}
	if row.CapturedAt.IsZero() && row.AmountCaptured > 0 {
		row.CapturedAt = e.Time.Time
	}
	err := row.setDetails(e, before)
	return row, err
}

func reason(r *paymentjson.StatusReason) paymentjson.StatusReason {
	if r == nil {
		return paymentjson.StatusReason{}
	}
	return *r
}

func (e Event) transactionRows() (all []TransactionRow, refunds []RefundRow) {
	for i, t := range e.Payment.Transactions {
		row := TransactionRow{
			Payment: string(e.Payment.ID), Number: int64(i + 1), Position: int64(e.Position), Account: string(e.Account),
			Type: t.TransactionType, RequestedAt: t.Date.Time, Status: string(t.ProcessorStatus), Currency: string(t.CurrencyCode),
			Exponent: int64(t.CurrencyCode.Digits()), Amount: int64(t.Amount), OrderID: t.OrderID, Processor: string(t.ProcessorName),
			ProcessorMerchantID: t.ProcessorMerchantID, ProcessorTransactionID: t.ProcessorTransactionID,
		}
		why := reason(t.ProcessorStatusReason)
		row.ReasonType, row.DeclineType, row.DeclineCode = string(why.Type), why.DeclineType, why.Code
		all = append(all, row)
		if t.TransactionType != "REFUND" {
			continue
		}
		refunds = append(refunds, RefundRow{
			Payment: row.Payment, Number: row.Number, Position: row.Position, Account: row.Account, RequestedAt: row.RequestedAt,
			Status: row.Status, Currency: row.Currency, Exponent: row.Exponent, Amount: row.Amount, OrderID: row.OrderID,
			Reason: t.Reason, Processor: row.Processor, ProcessorTransactionID: row.ProcessorTransactionID,
		})
	}
	return all, refunds
}

func (e Event) disputeRow() DisputeRow {
	d := e.Dispute
	row := DisputeRow{
		ID: string(d.ID), Position: int64(e.Position), Account: string(e.Account), Payment: string(d.Subject.Payment), OrderID: d.Subject.OrderID,
		OpenedAt: d.CreatedAt.Time, UpdatedAt: d.UpdatedAt.Time, Type: string(d.Current.Type), Status: string(d.Current.Status),
		Reason: d.Current.Reason, ReasonCode: d.Current.ReasonCode, Currency: string(d.Current.Currency),
		Exponent: int64(d.Current.Currency.Digits()), Amount: int64(d.Current.Amount),
		Processor: string(d.Subject.Processor), ProcessorDisputeID: d.Subject.ProcessorDisputeID,
	}
	if withheld(dispute.Place{Type: d.Current.Type, Status: d.Current.Status}) {
		row.AmountWithheld = row.Amount
	}
	return row
}

// withheld reports whether the processor withholds the disputed amount: from the chargeback on,
// unless it was won or cancelled.
func withheld(p dispute.Place) bool {
	return p.Type != processor.Retrieval && p.Status != processor.DisputeWon && p.Status != processor.DisputeCancelled
}
