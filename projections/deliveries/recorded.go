package deliveries

import (
	"time"

	"payledger/domain"
	"payledger/projections/paymentjson"
)

// Recorded is a delivery as one of its records has it, for analysts (D18, D20). It has no body, no
// answer of a receiver, no URL and no secret.
type Recorded struct {
	Place          uint64            `json:"place"`      // of the record in the stream; a later record of any delivery has a higher one
	RecordedAt     paymentjson.Time  `json:"recordedAt"` // when the record was written
	ID             string            `json:"id"`
	Account        domain.AccountID  `json:"accountId"`
	Endpoint       domain.EndpointID `json:"endpointId"`
	EventType      string            `json:"eventType"` // of the webhook (§6.2)
	EventID        string            `json:"eventId"`
	Aggregate      string            `json:"aggregate"` // of the event
	AggregateID    string            `json:"aggregateId"`
	Outcome        string            `json:"outcome"`
	PlannedAt      paymentjson.Time  `json:"plannedAt"`
	Attempts       int               `json:"attemptCount"`
	FailedAttempts int               `json:"failedAttemptCount"`
	FirstAttemptAt paymentjson.Time  `json:"firstAttemptAt,omitzero"`
	LastAttemptAt  paymentjson.Time  `json:"lastAttemptAt,omitzero"`
	DeliveredAt    paymentjson.Time  `json:"deliveredAt,omitzero"` // when the answer to the first successful attempt arrived
	NextAt         paymentjson.Time  `json:"nextAttemptAt,omitzero"`
	LastStatus     int               `json:"lastStatusCode,omitempty"` // 0: no answer
	LastFailure    string            `json:"lastFailure,omitempty"`
}

// RecordedOf returns the delivery d as a record at d's place has it.
func RecordedOf(d Detail, at time.Time) Recorded {
	stamp := func(t time.Time) paymentjson.Time { return paymentjson.Time{Time: t} }
	r := Recorded{
		Place: d.Seq, RecordedAt: stamp(at), ID: d.ID, Account: d.Account, Endpoint: d.Endpoint, EventType: d.EventType, EventID: d.EventID,
		Aggregate: d.Aggregate, AggregateID: d.AggregateID, Outcome: d.Status, PlannedAt: stamp(d.PlannedAt), Attempts: len(d.Tried),
		FailedAttempts: d.Failed, NextAt: stamp(d.NextAt), LastStatus: d.StatusCode, LastFailure: d.Failure,
	}
	for i, a := range d.Tried {
		if i == 0 {
			r.FirstAttemptAt = stamp(a.StartedAt)
		}
		r.LastAttemptAt = stamp(a.StartedAt)
		if a.Failure == "" && r.DeliveredAt.IsZero() {
			r.DeliveredAt = stamp(a.StartedAt.Add(a.Duration))
		}
	}
	return r
}
