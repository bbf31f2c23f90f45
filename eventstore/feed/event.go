package feed

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/dispute"
	"payledger/domain/exactjson"
	"payledger/domain/inbox"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/domain/workflow"
)

// Event is one event of the account.
type Event struct {
	Position    uint64           `json:"position"` // in the log over all accounts: positions of one account have gaps
	ID          string           `json:"id"`       // uuid
	Type        string           `json:"type"`     // for example payment.captured
	Time        time.Time        `json:"time"`     // UTC
	AccountID   domain.AccountID `json:"accountId"`
	Aggregate   string           `json:"aggregate"` // payment, session, instrument, …
	AggregateID string           `json:"aggregateId"`
	Revision    uint64           `json:"revision"` // of the aggregate, from 1, without a gap
	Actor       string           `json:"actor"`
	Hash        string           `json:"hash"` // the event's link of the hash chain, in hex

	Fact    domain.Event    `json:"-"`                 // payment.Captured, session.Created, …; nil for an unknown type
	Payment *Payment        `json:"payment,omitempty"` // after the event, for events of payments
	Held    domain.Amount   `json:"amountHeld"`        // of Payment: authorized, and neither captured nor released, minor units
	JSON    json.RawMessage `json:"-"`                 // the whole event; asyncapi.yaml has its schema
}

// Payment is the state of a payment after an event: the fields that most readers need.
type Payment struct {
	ID           domain.PaymentID `json:"id"`
	Status       payment.Status   `json:"status"`
	OrderID      string           `json:"orderId"`
	CustomerID   string           `json:"customerId"`
	CurrencyCode domain.Currency  `json:"currencyCode"`
	Amount       domain.Amount    `json:"amount"` // authorized, minor units
	Processor    struct {
		Name           processor.Name `json:"name"`
		AmountCaptured domain.Amount  `json:"amountCaptured"`
		AmountRefunded domain.Amount  `json:"amountRefunded"`
	} `json:"processor"`
	Metadata domain.Metadata `json:"metadata"`

	Revision uint64          `json:"-"` // of the event
	JSON     json.RawMessage `json:"-"` // the whole Payment JSON, as GET /payments/{id} without personal data
}

// Payments has the newest state of each payment.
type Payments map[domain.PaymentID]Payment

// Apply takes the state after an event. An event that was applied before changes nothing.
func (p Payments) Apply(e Event) {
	if e.Payment != nil && e.Revision > p[e.Payment.ID].Revision {
		p[e.Payment.ID] = *e.Payment
	}
}

// facts are the types of facts by the name of their event.
var facts = map[string]reflect.Type{}

func init() {
	know(payment.Events())
	know(session.Events())
	know(instrument.Events())
	know(attempt.Events())
	know(account.Events())
	know(dispute.Events())
	know(inbox.Events())
	know(person.Events())
	know(workflow.Events())
	know(workflow.RunEvents())
}

func know[E domain.Event](events []E) {
	for _, e := range events {
		facts[e.Type()] = reflect.TypeOf(e)
	}
}

func decode(text []byte) (Event, error) {
	e := Event{JSON: text}
	var bodies struct {
		Event   json.RawMessage `json:"event"`
		Payment json.RawMessage `json:"payment"`
	}
	if err := exactjson.Unmarshal(text, &e); err != nil {
		return e, fmt.Errorf("feed: an event cannot be read: %w", err)
	}
	if err := exactjson.Unmarshal(text, &bodies); err != nil {
		return e, fmt.Errorf("feed: the event at position %d cannot be read: %w", e.Position, err)
	}
	if e.Payment != nil {
		e.Payment.Revision, e.Payment.JSON = e.Revision, bodies.Payment
	}
	typ, known := facts[e.Type]
	if !known {
		return e, nil
	}
	fact := reflect.New(typ)
	if err := exactjson.Unmarshal(bodies.Event, fact.Interface()); err != nil {
		return e, fmt.Errorf("feed: the %s at position %d cannot be read: %w", e.Type, e.Position, err)
	}
	e.Fact = fact.Elem().Interface().(domain.Event)
	return e, nil
}
