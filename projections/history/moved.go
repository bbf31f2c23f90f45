package history

import (
	"payledger/domain"
	"payledger/projections/paymentjson"
)

// Moved has the changes of a payment's amounts by an event, in minor units of its currency.
type Moved struct {
	Held     domain.Amount `json:"held,omitempty"` // authorized, and neither captured nor released
	Captured domain.Amount `json:"captured,omitempty"`
	Refunded domain.Amount `json:"refunded,omitempty"`
}

func amounts(p paymentjson.Payment) (m Moved) {
	m.Held = p.Held()
	if p.Processor != nil {
		m.Captured, m.Refunded = p.Processor.AmountCaptured, p.Processor.AmountRefunded
	}
	return m
}

func (m Moved) since(before Moved) Moved {
	return Moved{Held: m.Held - before.Held, Captured: m.Captured - before.Captured, Refunded: m.Refunded - before.Refunded}
}
