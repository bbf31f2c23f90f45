package processor

import (
	"time"

	"payledger/domain"
)

// Dispute is the Kind of a notification about a dispute. It is not an operation.
const Dispute Kind = "dispute"

// DisputeType is the stage of a dispute (§3.2).
type DisputeType string

const (
	Retrieval      DisputeType = "RETRIEVAL"
	Chargeback     DisputeType = "DISPUTE"
	Prearbitration DisputeType = "PREARBITRATION"
)

// DisputeTypes lists every stage, in the order in which one follows another (D16).
var DisputeTypes = []DisputeType{Retrieval, Chargeback, Prearbitration}

// DisputeStatus is the status of a stage (§3.2).
type DisputeStatus string

const (
	DisputeOpen       DisputeStatus = "OPEN"
	DisputeAccepted   DisputeStatus = "ACCEPTED"
	DisputeChallenged DisputeStatus = "CHALLENGED"
	DisputeExpired    DisputeStatus = "EXPIRED"
	DisputeCancelled  DisputeStatus = "CANCELLED"
	DisputeWon        DisputeStatus = "WON"
	DisputeLost       DisputeStatus = "LOST"
)

// DisputeStatuses lists every status, as the contract does.
var DisputeStatuses = []DisputeStatus{
	DisputeOpen, DisputeAccepted, DisputeChallenged, DisputeExpired, DisputeCancelled, DisputeWon, DisputeLost,
}

// ReturnsMoney reports whether a dispute has given its amount back to the customer. A retrieval
// moves no money (D16).
func (s DisputeStatus) ReturnsMoney(of DisputeType) bool {
	return of != Retrieval && (s == DisputeLost || s == DisputeAccepted || s == DisputeExpired)
}

// BesideRefund reports whether a refund of the disputed payment may pay the customer twice: the
// dispute is open, or has given its amount back (D22.2).
func (s DisputeStatus) BesideRefund(of DisputeType) bool {
	return s == DisputeOpen || s == DisputeChallenged || s.ReturnsMoney(of)
}

// DisputeUpdate is the state of a dispute at a processor, in the terms of the contract (§6.4).
type DisputeUpdate struct {
	ID            string          `json:"processorDisputeId"`               // the processor's id of the dispute
	MerchantID    string          `json:"processorMerchantId,omitempty"`    // the merchant's id at the processor
	TransactionID string          `json:"processorTransactionId,omitempty"` // the disputed one; may be absent
	Type          DisputeType     `json:"disputeType"`                      // RETRIEVAL, DISPUTE or PREARBITRATION
	Status        DisputeStatus   `json:"status"`                           // the dispute's status within its type (D16)
	ReasonCode    string          `json:"reasonCode"`                       // the card scheme's
	Wording       string          `json:"processorReason,omitempty"`        // the processor's wording
	Amount        domain.Amount   `json:"amount"`                           // the disputed amount, minor units of currency
	Currency      domain.Currency `json:"currency"`                         // ISO 4217
	ChallengeBy   time.Time       `json:"challengeRequiredBy,omitempty"`    // zero: none (D16)
	At            time.Time       `json:"at"`                               // the processor's time of the change, UTC
}
