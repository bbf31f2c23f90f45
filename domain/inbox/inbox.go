package inbox

import (
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Outcome is the state of a notification.
type Outcome string

const (
	Waiting  Outcome = "WAITING"  // for its payment, or for another operation's answer
	Applied  Outcome = "APPLIED"  // the payment or dispute has recorded it
	Rejected Outcome = "REJECTED" // it cannot be true
)

// Notification is a notification in the inbox. Only its Received event has its content.
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
	Notifications []Notification   `json:"notices,omitempty"`      // in the order of arrival
	Through       time.Time        `json:"sweptThrough,omitempty"` // the processor's time up to which its list was read
}

// Waiting returns the waiting notifications in the order of arrival.
func (s State) Waiting() []Notification {
	var waiting []Notification
	for _, n := range s.Notifications {
		if n.Outcome == Waiting {
			waiting = append(waiting, n)
		}
	}
	return waiting
}

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

// Received stores a signed notification of a processor.
type Received struct {
	At         time.Time              `json:"at"`                   // when it was decided, UTC
	Reference  domain.PaymentID       `json:"reference"`            // the payment's id
	Payload    processor.Notification `json:"told"`                 // the notification as it was understood
	Body       string                 `json:"body"`                 // the fields of the protocol, without card data
	Additional *domain.Sealed         `json:"additional,omitempty"` // the body's other fields, under the payment's key
	Redacted   bool                   `json:"redacted,omitempty"`   // card data was removed from the body
	Listed     bool                   `json:"found,omitempty"`      // read from the processor's list; the notification was lost
	Unreadable string                 `json:"unreadable,omitempty"` // why its dispute cannot be read
}

// WasApplied says that the payment or dispute has recorded a notification.
type WasApplied struct {
	At        time.Time      `json:"at"`                  // when it was decided, UTC
	Processor processor.Name `json:"processor"`           // the sender
	ID        string         `json:"id"`                  // the processor's id of the notification
	Effect    string         `json:"effect,omitempty"`    // the recorded event; none: it was known already
	Dispute   string         `json:"disputeId,omitempty"` // the dispute that recorded it; absent: none
}

// WasRejected says that a notification cannot be true, with the reason.
type WasRejected struct {
	At        time.Time      `json:"at"`                  // when it was decided, UTC
	Processor processor.Name `json:"processor"`           // the sender
	ID        string         `json:"id"`                  // the processor's id of the notification
	Refusal   string         `json:"refusal"`             // why it cannot be true
	Dispute   string         `json:"disputeId,omitempty"` // the dispute that it is about; absent: none
}

// Swept says that the processor's list of dispute notifications was read up to a time of the
// processor.
type Swept struct {
	At        time.Time      `json:"at"`        // when it was decided, UTC
	Processor processor.Name `json:"processor"` // the processor of the list
	Through   time.Time      `json:"through"`   // the list is read up to this time by the processor's clock, UTC
}

func (Received) Type() string    { return "inbox.received" }
func (WasApplied) Type() string  { return "inbox.applied" }
func (WasRejected) Type() string { return "inbox.rejected" }
func (Swept) Type() string       { return "inbox.swept" }
func (Received) inboxEvent()     {}
func (WasApplied) inboxEvent()   {}
func (WasRejected) inboxEvent()  {}
func (Swept) inboxEvent()        {}

// Evolve returns the state after the event.
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
