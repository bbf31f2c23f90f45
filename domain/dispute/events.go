package dispute

import (
	"slices"
	"time"

	"payledger/domain"
)

// Event is a fact about a dispute.
type Event interface {
	domain.Event
	disputeEvent()
}

// Events lists every event type.
func Events() []Event { return []Event{Opened{}, Changed{}, Noted{}, Rejected{}} }

// Opened says that a processor reported the dispute for the first time, in any type and status
// (D16).
type Opened struct {
	At      time.Time        `json:"at"`        // when it was decided, UTC
	ID      domain.DisputeID `json:"id"`        // names the dispute, derived from the processor's id (§3.2)
	Account domain.AccountID `json:"accountId"` // the merchant account
	Subject Subject          `json:"subject"`   // the disputed payment
	Fact    Fact             `json:"fact"`      // the notification
}

// Changed says that the dispute has another type or status now.
type Changed struct {
	At   time.Time `json:"at"`   // when it was decided, UTC
	Fact Fact      `json:"fact"` // the notification
}

// Noted says that the processor reported a fact without a new type or status: it is older than the
// newest fact, or repeats it with other details.
type Noted struct {
	At   time.Time `json:"at"`   // when it was decided, UTC
	Fact Fact      `json:"fact"` // the notification
}

// Rejected says that the processor reported an impossible fact, with the reason. It can be the
// first event of a dispute: the notification that would have opened it is lost, or comes later.
type Rejected struct {
	At      time.Time        `json:"at"`                  // when it was decided, UTC
	Refusal string           `json:"refusal"`             // why it is impossible
	Fact    Fact             `json:"fact"`                // the notification
	ID      domain.DisputeID `json:"id,omitempty"`        // names the dispute, as in dispute.opened; only if it is not opened
	Account domain.AccountID `json:"accountId,omitempty"` // the merchant account; only if it is not opened
	Subject *Subject         `json:"subject,omitempty"`   // the payment to which the notification belongs; only if it is not opened
}

func (Opened) Type() string    { return "dispute.opened" }
func (Changed) Type() string   { return "dispute.changed" }
func (Noted) Type() string     { return "dispute.noted" }
func (Rejected) Type() string  { return "dispute.rejected" }
func (Opened) disputeEvent()   {}
func (Changed) disputeEvent()  {}
func (Noted) disputeEvent()    {}
func (Rejected) disputeEvent() {}

// Evolve returns the state after the event.
func Evolve(s State, e Event) State {
	s.Revision++
	switch e := e.(type) {
	case Opened:
		s.ID, s.Account, s.Subject, s.CreatedAt = e.ID, e.Account, e.Subject, e.At
		s = s.with(RecordedFact{Fact: e.Fact, Disposition: DispositionOpened, Entered: e.At})
	case Changed:
		s = s.with(RecordedFact{Fact: e.Fact, Disposition: DispositionChanged, Entered: e.At})
	case Noted:
		s = s.with(RecordedFact{Fact: e.Fact, Disposition: DispositionNoted, Entered: e.At})
	case Rejected:
		if e.Subject != nil {
			s.ID, s.Account, s.Subject = e.ID, e.Account, *e.Subject
		}
		s = s.with(RecordedFact{Fact: e.Fact, Disposition: DispositionRejected, Refusal: e.Refusal, Entered: e.At})
	}
	return s
}

// with adds a fact to a copy of the list, because earlier States share the list.
func (s State) with(f RecordedFact) State {
	s.Facts, s.UpdatedAt = append(slices.Clone(s.Facts), f), f.Entered
	if way := s.way(); len(way) > 0 {
		s.Current = way[len(way)-1]
	}
	return s
}
