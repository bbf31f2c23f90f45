package payload

import (
	"cmp"
	"fmt"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/processor"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/projections/paymentjson"
)

// openedPayload is the body of DISPUTE.OPENED after its envelope: all strings (§6.2).
type openedPayload struct {
	AccountID          domain.AccountID `json:"primerAccountId"` // the contract's spelling
	TransactionID      string           `json:"transactionId"`
	OrderID            string           `json:"orderId"`
	ProcessorID        processor.Name   `json:"processorId"`
	ProcessorDisputeID string           `json:"processorDisputeId"`
	PaymentID          domain.PaymentID `json:"paymentId"`
}

// Dispute is the body of DISPUTE.STATUS after its envelope (§6.4, D16).
type Dispute struct {
	DisputeType         processor.DisputeType   `json:"type"`
	Status              processor.DisputeStatus `json:"status"`
	AccountID           domain.AccountID        `json:"primerAccountId"`
	TransactionID       string                  `json:"transactionId,omitempty"`
	OrderID             string                  `json:"orderId"`
	PaymentID           domain.PaymentID        `json:"paymentId"`
	PaymentMethod       disputedMethod          `json:"paymentMethod"`
	Processor           processor.Name          `json:"processor"`
	ProcessorDisputeID  string                  `json:"processorDisputeId"`
	ReceivedAt          paymentjson.Time        `json:"receivedAt"`
	ChallengeRequiredBy *paymentjson.Time       `json:"challengeRequiredBy"` // null if the processor sent none (D16)
	Reason              string                  `json:"reason,omitempty"`
	ReasonCode          string                  `json:"reasonCode"`
	ProcessorReason     string                  `json:"processorReason,omitempty"`
	Amount              domain.Amount           `json:"amount"`
	Currency            domain.Currency         `json:"currency"`
	MerchantID          string                  `json:"merchantId,omitempty"`
}

type disputedMethod struct {
	Type string             `json:"paymentMethodType"`
	Data disputedMethodData `json:"paymentMethodData"`
}

type disputedMethodData struct {
	Network domain.Network `json:"network"`
}

// OfDispute returns the members of a dispute's webhook. s is the dispute after the event r.
func OfDispute(kind webhook.Kind, r *eventstore.Recorded, s dispute.State) (any, error) {
	if kind == webhook.DisputeStatus {
		return NewDispute(r, s)
	}
	if err := opened(r, s); err != nil {
		return nil, err
	}
	return openedPayload{
		AccountID: s.Account, TransactionID: s.Current.TransactionID, OrderID: s.Subject.OrderID, ProcessorID: s.Subject.Processor,
		ProcessorDisputeID: s.Subject.ProcessorDisputeID, PaymentID: s.Subject.Payment,
	}, nil
}

// NewDispute returns the members of DISPUTE.STATUS. s is the dispute after the event r.
func NewDispute(r *eventstore.Recorded, s dispute.State) (Dispute, error) {
	if err := opened(r, s); err != nil {
		return Dispute{}, err
	}
	about, now := s.Subject, s.Current
	p := Dispute{
		DisputeType: now.Type, Status: now.Status, AccountID: s.Account, TransactionID: now.TransactionID, OrderID: about.OrderID,
		PaymentID:     about.Payment,
		PaymentMethod: disputedMethod{about.PaymentMethodType, disputedMethodData{cmp.Or(about.Network, domain.NetworkOther)}},
		Processor:     about.Processor, ProcessorDisputeID: about.ProcessorDisputeID, ReceivedAt: paymentjson.Time{Time: now.ReceivedAt},
		Reason: now.Reason, ReasonCode: now.ReasonCode, ProcessorReason: now.Wording, Amount: now.Amount, Currency: now.Currency,
		MerchantID: now.MerchantID,
	}
	if now.ChallengeBy != nil {
		p.ChallengeRequiredBy = &paymentjson.Time{Time: *now.ChallengeBy}
	}
	return p, nil
}

func opened(r *eventstore.Recorded, s dispute.State) error {
	if !s.Exists() {
		return fmt.Errorf("notifier: %s revision %d: the dispute was not opened", r.Key, r.Revision)
	}
	return nil
}
