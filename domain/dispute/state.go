package dispute

import (
	"fmt"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Disposition is what became of a fact.
type Disposition string

// The verdicts on facts.
const (
	DispositionOpened   Disposition = "OPENED"
	DispositionChanged  Disposition = "CHANGED"
	DispositionNoted    Disposition = "NOTED"
	DispositionRejected Disposition = "REJECTED"
)

// Fact is what one notification told.
type Fact struct {
	EventID       string                  `json:"processorEventId"`
	At            time.Time               `json:"at"`         // the processor's time
	ReceivedAt    time.Time               `json:"receivedAt"` // when it came here (§6.4)
	Type          processor.DisputeType   `json:"type"`
	Status        processor.DisputeStatus `json:"status"`
	TransactionID string                  `json:"transactionId,omitempty"` // of the disputed capture, else of the authorization (D16)
	MerchantID    string                  `json:"merchantId,omitempty"`
	ReasonCode    string                  `json:"reasonCode"`
	Reason        string                  `json:"reason,omitempty"`          // unified
	Wording       string                  `json:"processorReason,omitempty"` // the processor's own
	Amount        domain.Amount           `json:"amount"`
	Currency      domain.Currency         `json:"currency"`
	ChallengeBy   *time.Time              `json:"challengeRequiredBy,omitempty"`
}

// Place is where the fact says that the dispute stands.
func (f Fact) Place() Place { return Place{f.Type, f.Status} }

// RecordedFact is a fact with what became of it.
type RecordedFact struct {
	Fact
	Disposition Disposition `json:"verdict"`
	Refusal     string      `json:"refusal,omitempty"` // why it was rejected
	Entered     time.Time   `json:"recordedAt"`
}

// Subject is what the dispute is about; it never changes.
type Subject struct {
	Payment            domain.PaymentID `json:"paymentId"`
	OrderID            string           `json:"orderId"`
	PaymentMethodType  string           `json:"paymentMethodType"`
	Network            domain.Network   `json:"network,omitempty"`
	Processor          processor.Name   `json:"processor"`
	ProcessorDisputeID string           `json:"processorDisputeId"` // the same through all types and statuses (§3.2)
}

// State is the dispute as its events made it.
type State struct {
	ID        domain.DisputeID `json:"id"`
	Account   domain.AccountID `json:"accountId"`
	Revision  uint64           `json:"revision"`
	CreatedAt time.Time        `json:"createdAt"`
	UpdatedAt time.Time        `json:"updatedAt"`
	Subject   Subject          `json:"subject"`
	Current   Fact             `json:"current"` // the newest that is possible, by the processor's time
	Facts     []RecordedFact   `json:"facts"`   // in the order in which they came
}

// Exists reports whether the dispute was opened: what was only rejected opens none.
func (s State) Exists() bool { return !s.CreatedAt.IsZero() }

// has finds a fact by the processor's event id.
func (s State) has(eventID string) bool {
	return slices.ContainsFunc(s.Facts, func(f RecordedFact) bool { return f.EventID == eventID })
}

// way returns the facts that were not rejected, by the processor's time; of one time, as one can follow another.
func (s State) way() []Fact {
	var way []Fact
	for _, f := range s.Facts {
		if f.Disposition != DispositionRejected {
			way = slices.Insert(way, placeFor(way, f.Fact), f.Fact)
		}
	}
	return way
}

// placeFor tells where a fact belongs on a way.
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

// Check states what always holds: the facts that count are a way of D16, and its end is what the dispute shows.
func (s State) Check() error {
	way := s.way()
	for i := 1; i < len(way); i++ {
		if before, after := way[i-1].Place(), way[i].Place(); !before.LeadsTo(after) {
			return fmt.Errorf("%s does not lead to %s", before, after)
		}
	}
	if s.Exists() && (len(way) == 0 || way[len(way)-1].Place() != s.Current.Place()) {
		return fmt.Errorf("the dispute shows %s, which is not the end of its way", s.Current.Place())
	}
	return nil
}
