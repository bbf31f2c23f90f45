package person

import (
	"time"

	"payledger/domain"
)

// State is the state of a person's erasures. The zero State is that of a person without one.
type State struct {
	ID         domain.PersonID  `json:"id"`
	Account    domain.AccountID `json:"accountId"`
	Revision   uint64           `json:"revision"`
	CreatedAt  time.Time        `json:"createdAt"`
	UpdatedAt  time.Time        `json:"updatedAt"`
	CustomerID string           `json:"customerId,omitempty"`
	Session    domain.SessionID `json:"sessionId,omitempty"` // of a guest
	Erased     uint64           `json:"erased,omitempty"`    // number of the newest erased key
	ErasedAt   time.Time        `json:"erasedAt"`
	Destroyed  uint64           `json:"destroyed,omitempty"` // number of the newest key whose destruction is done
}

// Exists reports whether the person was ever erased.
func (s State) Exists() bool { return s.Revision > 0 }

// Number returns the number of the key for new data.
func (s State) Number() uint64 { return s.Erased + 1 }

// HasErased reports whether the key of a number was erased.
func (s State) HasErased(number uint64) bool { return number <= s.Erased }

// Due reports whether an erased key may still exist.
func (s State) Due() bool { return s.Erased > s.Destroyed }

// Event is a fact about a person.
type Event interface {
	domain.Event
	personEvent()
}

// Events lists every event type.
func Events() []Event { return []Event{Erased{}, KeyDestroyed{}} }

// Erased says that the person's data under the key of this number counts as erased. The key is
// destroyed after this event.
type Erased struct {
	At         time.Time        `json:"at"`                   // when it was decided, UTC
	ID         domain.PersonID  `json:"id"`                   // of the person
	Account    domain.AccountID `json:"accountId"`            // whose customer or guest it is
	CustomerID string           `json:"customerId,omitempty"` // of a customer; the merchant's id
	Session    domain.SessionID `json:"sessionId,omitempty"`  // of a guest
	Payment    domain.PaymentID `json:"paymentId,omitempty"`  // of a guest: the payment whose erasure was requested
	Number     uint64           `json:"number"`               // of the key, from 1
}

// KeyDestroyed says that the key of this number, and the keys before it, are destroyed.
type KeyDestroyed struct {
	At     time.Time `json:"at"`     // when the destruction was done, UTC
	Number uint64    `json:"number"` // of the key, from 1
}

func (Erased) Type() string       { return "person.erased" }
func (KeyDestroyed) Type() string { return "person.key_destroyed" }
func (Erased) personEvent()       {}
func (KeyDestroyed) personEvent() {}

// Erase is the command to erase the person's data under the current key. Number is ignored.
type Erase Erased

// DecideErase erases the current key. The event is nil if an earlier erasure is due: it must be
// finished first.
func DecideErase(s State, c Erase) (Event, error) {
	if s.Due() {
		return nil, nil
	}
	c.Number = s.Number()
	return Erased(c), nil
}

// DecideKeyDestroyed ends a due erasure.
func DecideKeyDestroyed(s State, at time.Time, number uint64) (Event, error) {
	if !s.HasErased(number) || number <= s.Destroyed {
		return nil, nil
	}
	return KeyDestroyed{At: at, Number: number}, nil
}

// Evolve returns the state after the event.
func Evolve(s State, e Event) State {
	s.Revision++
	switch e := e.(type) {
	case Erased:
		if s.CreatedAt.IsZero() {
			s.CreatedAt = e.At
		}
		s.ID, s.Account, s.CustomerID, s.Session = e.ID, e.Account, e.CustomerID, e.Session
		s.Erased, s.ErasedAt, s.UpdatedAt = e.Number, e.At, e.At
	case KeyDestroyed:
		s.Destroyed, s.UpdatedAt = e.Number, e.At
	}
	return s
}
