package history

import (
	"payledger/domain"
	"payledger/domain/payment"
)

// Moved has the changes of a payment's amounts by an event, in minor units of its currency.
type Moved struct {
	Held     domain.Amount `json:"held,omitempty"` // authorized, and neither captured nor released
	Captured domain.Amount `json:"captured,omitempty"`
	Refunded domain.Amount `json:"refunded,omitempty"`
}

func amounts(s payment.State) Moved {
	return Moved{Held: s.Held(), Captured: s.Captured(), Refunded: s.Refunded()}
}

func (m Moved) since(before Moved) Moved {
	return Moved{Held: m.Held - before.Held, Captured: m.Captured - before.Captured, Refunded: m.Refunded - before.Refunded}
}
