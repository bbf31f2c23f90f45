package inbox

import (
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Outcome is what became of a notification.
type Outcome string

// The outcomes of notifications.
const (
	Waiting  Outcome = "WAITING"  // for its payment, or for another operation's answer
	Applied  Outcome = "APPLIED"  // what it told stands in the payment or the dispute
	Rejected Outcome = "REJECTED" // it cannot be true
)

// Notification is a notification in the inbox. What it told stands in its Received, and nowhere else.
type Notification struct {
	Processor  processor.Name `json:"processor"`
	ID         string         `json:"id"` // the processor's event id
	Outcome    Outcome        `json:"outcome"`
	Revision   uint64         `json:"revision,omitempty"`   // of its Received; while WAITING
	ReceivedAt time.Time      `json:"receivedAt,omitempty"` // while WAITING
}

// State is one inbox.
type State struct {
	Reference     domain.PaymentID `json:"reference"` // a processor's name for the inbox of its look-ups
	Revision      uint64           `json:"revision"`
	CreatedAt     time.Time        `json:"createdAt"`
	UpdatedAt     time.Time        `json:"updatedAt"`
	Notifications []Notification   `json:"notices,omitempty"`      // in the order in which they came
	Through       time.Time        `json:"sweptThrough,omitempty"` // of a processor: what it told up to then was looked through
}

// Waiting returns what is not settled, in the order in which it came.
func (s State) Waiting() []Notification {
	var waiting []Notification
	for _, n := range s.Notifications {
		if n.Outcome == Waiting {
			waiting = append(waiting, n)
		}
	}
	return waiting
}

// find returns the index of a notification; -1 when it never came.
func (s State) find(name processor.Name, id string) int {
	return slices.IndexFunc(s.Notifications, func(n Notification) bool { return n.Processor == name && n.ID == id })
}

// Event is a fact about an inbox.
type Event interface {
	domain.Event
	inboxEvent()
}

// Events lists every event type.
func Events() []Event { return []Event{Received{}, WasApplied{}, WasRejected{}, Swept{}} }

// Received says that a processor told something, signed, and keeps it.
type Received struct {
	At         time.Time              `json:"at"`
	Reference  domain.PaymentID       `json:"reference"`
	Payload    processor.Notification `json:"told"`
	Body       string                 `json:"body"`                 // the fields that the protocol names, without card data
	Additional *domain.Sealed         `json:"additional,omitempty"` // the body's other fields, under the payment's key
	Redacted   bool                   `json:"redacted,omitempty"`   // something was taken out of the body, and is nowhere
	Listed     bool                   `json:"found,omitempty"`      // by asking: the notification itself did not come
	Unreadable string                 `json:"unreadable,omitempty"` // why the dispute that it tells of cannot be read
}

// WasApplied says that what a notification told stands where it belongs.
type WasApplied struct {
	At        time.Time      `json:"at"`
	Processor processor.Name `json:"processor"`
	ID        string         `json:"id"`
	Effect    string         `json:"effect,omitempty"` // the event that it led to; none: it was known already
	Dispute   string         `json:"disputeId,omitempty"`
}

// WasRejected says that what a notification told cannot be true, and why.
type WasRejected struct {
	At        time.Time      `json:"at"`
	Processor processor.Name `json:"processor"`
	ID        string         `json:"id"`
	Refusal   string         `json:"refusal"`
	Dispute   string         `json:"disputeId,omitempty"`
}

// Swept says that everything a processor told about disputes up to a time of its own was looked through.
type Swept struct {
	At        time.Time      `json:"at"`
	Processor processor.Name `json:"processor"`
	Through   time.Time      `json:"through"`
}

func (Received) Type() string    { return "inbox.received" }
func (WasApplied) Type() string  { return "inbox.applied" }
func (WasRejected) Type() string { return "inbox.rejected" }
func (Swept) Type() string       { return "inbox.swept" }
func (Received) inboxEvent()     {}
func (WasApplied) inboxEvent()   {}
func (WasRejected) inboxEvent()  {}
func (Swept) inboxEvent()        {}

// Evolve folds one event into the state.
func Evolve(s State, e Event) State {
	s.Revision++
	switch e := e.(type) {
	case Received:
		s.Reference, s.Notifications = e.Reference, append(slices.Clone(s.Notifications), Notification{
			Processor: e.Payload.Processor, ID: e.Payload.ID, Revision: s.Revision, ReceivedAt: e.At, Outcome: Waiting,
		})
		return s.at(e.At)
	case WasApplied:
		return s.resolved(e.Processor, e.ID, Applied).at(e.At)
	case WasRejected:
		return s.resolved(e.Processor, e.ID, Rejected).at(e.At)
	case Swept:
		s.Reference, s.Through = domain.PaymentID(e.Processor), e.Through
		return s.at(e.At)
	}
	return s
}

func (s State) at(t time.Time) State {
	if s.CreatedAt.IsZero() {
		s.CreatedAt = t
	}
	s.UpdatedAt = t
	return s
}

// resolved ends the waiting of a notification, in a copy of the list.
func (s State) resolved(name processor.Name, id string, to Outcome) State {
	if i := s.find(name, id); i >= 0 {
		s.Notifications = slices.Clone(s.Notifications)
		s.Notifications[i] = Notification{Processor: name, ID: id, Outcome: to}
	}
	return s
}
