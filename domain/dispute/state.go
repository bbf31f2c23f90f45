package dispute

import (
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Disposition is the result of recording a fact.
type Disposition string

const (
	DispositionOpened   Disposition = "OPENED"
	DispositionChanged  Disposition = "CHANGED"
	DispositionNoted    Disposition = "NOTED"
	DispositionRejected Disposition = "REJECTED"
)

// Fact is the content of one notification.
type Fact struct {
	EventID       string                  `json:"processorEventId"`              // the processor's id of the notification
	At            time.Time               `json:"at"`                            // the processor's time
	ReceivedAt    time.Time               `json:"receivedAt"`                    // §6.4
	Type          processor.DisputeType   `json:"type"`                          // RETRIEVAL, DISPUTE or PREARBITRATION
	Status        processor.DisputeStatus `json:"status"`                        // the dispute's status within its type (D16)
	TransactionID string                  `json:"transactionId,omitempty"`       // of the disputed capture, else of the authorization (D16)
	MerchantID    string                  `json:"merchantId,omitempty"`          // the merchant's id at the processor
	ReasonCode    string                  `json:"reasonCode"`                    // the card scheme's code
	Reason        string                  `json:"reason,omitempty"`              // unified
	Wording       string                  `json:"processorReason,omitempty"`     // the processor's own
	Amount        domain.Amount           `json:"amount"`                        // the disputed amount, minor units of currency
	Currency      domain.Currency         `json:"currency"`                      // ISO 4217
	ChallengeBy   *time.Time              `json:"challengeRequiredBy,omitempty"` // last time to challenge, UTC; absent: the processor gives none (D16)
}

// Place returns the dispute's stage and status by the fact.
func (f Fact) Place() Place { return Place{f.Type, f.Status} }

// RecordedFact is a fact with its disposition.
type RecordedFact struct {
	Fact
	Disposition Disposition `json:"verdict"`
	Refusal     string      `json:"refusal,omitempty"` // why it was rejected
	Entered     time.Time   `json:"recordedAt"`
}

// Subject is the disputed payment. It never changes after the dispute is opened.
type Subject struct {
	Payment            domain.PaymentID `json:"paymentId"`          // the disputed payment
	OrderID            string           `json:"orderId"`            // the merchant's order
	PaymentMethodType  string           `json:"paymentMethodType"`  // PAYMENT_CARD
	Network            domain.Network   `json:"network,omitempty"`  // the card scheme
	Processor          processor.Name   `json:"processor"`          // the processor of the payment
	ProcessorDisputeID string           `json:"processorDisputeId"` // the same through all types and statuses (§3.2)
}

// State is the state of a dispute after its events.
type State struct {
	ID        domain.DisputeID `json:"id"`
	Account   domain.AccountID `json:"accountId"`
	Revision  uint64           `json:"revision"`
	CreatedAt time.Time        `json:"createdAt"`
	UpdatedAt time.Time        `json:"updatedAt"`
	Subject   Subject          `json:"subject"`
	Current   Fact             `json:"current"` // the newest accepted fact by the processor's time
	Facts     []RecordedFact   `json:"facts"`   // in the order of arrival
}

// Exists reports whether the dispute was opened. Rejected facts open none.
func (s State) Exists() bool { return !s.CreatedAt.IsZero() }

// BesideRefund reports whether a refund of the payment may pay the customer twice (D22.2).
func (s State) BesideRefund() bool {
	return s.Exists() && s.Current.Status.BesideRefund(s.Current.Type)
}

// String returns the dispute's id, with its type, status and amount.
func (s State) String() string {
	return string(s.ID) + " (" + s.Current.Place().String() + ", " + s.Current.Amount.Format(s.Current.Currency) + ")"
}

func (s State) has(eventID string) bool {
	return slices.ContainsFunc(s.Facts, func(f RecordedFact) bool { return f.EventID == eventID })
}

// way returns the accepted facts by the processor's time; facts of the same time in a possible
// order.
func (s State) way() []Fact {
	var way []Fact
	for _, f := range s.Facts {
		if f.Disposition != DispositionRejected {
			way = slices.Insert(way, placeFor(way, f.Fact), f.Fact)
		}
	}
	return way
}

func placeFor(way []Fact, f Fact) int {
	i := len(way)
	for i > 0 && way[i-1].At.After(f.At) {
		i--
	}
	for i > 0 && way[i-1].At.Equal(f.At) && !way[i-1].Place().LeadsTo(f.Place()) && f.Place().LeadsTo(way[i-1].Place()) {
		i--
	}
	return i
}
