package notifier

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"payledger/domain"
	"payledger/eventstore"
)

// deliverySchema is the schema version of a Delivery's bytes: raise it when a field's meaning changes, and
// upgrade older bytes in decodeDelivery; the golden bytes in testdata stay for ever.
const deliverySchema = 1

// ErrNewerRecord means that a newer build wrote the record: this one would drop fields of it.
var ErrNewerRecord = errors.New("notifier: record written by a newer schema")

// Status is where a delivery stands.
type Status string

// The states of a delivery. A failed one keeps all that a further attempt needs.
const (
	Planned   Status = "PLANNED"   // no attempt is recorded
	Succeeded Status = "SUCCEEDED" // an attempt was answered with 2xx (§6.1)
	Failed    Status = "FAILED"    // the last attempt was not
)

// Delivery is one webhook for one endpoint: references to what it tells, never the body, so that no
// personal data stands here and the payload is made anew for each attempt. Its record in the stream is
// written again, whole, after each attempt.
type Delivery struct {
	Schema      int               `json:"schema"`
	Account     domain.AccountID  `json:"accountId"`
	Endpoint    domain.EndpointID `json:"endpointId"`
	Kind        Kind              `json:"eventType"`
	EventID     string            `json:"eventId"`
	Shard       int               `json:"shard"` // where the event stands in the log
	Seq         uint64            `json:"seq"`
	Aggregate   string            `json:"aggregate"` // whose event it is
	AggregateID string            `json:"aggregateId"`
	Revision    uint64            `json:"revision"`
	PlannedAt   time.Time         `json:"plannedAt"`
	Planner     string            `json:"planner"` // the process that planned it: no two write the same bytes
	Status      Status            `json:"status"`
	Attempts    []Attempt         `json:"attempts,omitempty"` // oldest first
}

// Attempt is one try to send, as it ended.
type Attempt struct {
	Number     int       `json:"number"` // from 1
	StartedAt  time.Time `json:"startedAt"`
	Duration   int64     `json:"durationMicros"`       // until the status line, or the failure
	StatusCode int       `json:"statusCode,omitempty"` // 0: no status line came
	Failure    Failure   `json:"failure,omitempty"`    // "" when it succeeded
}

// Name is the delivery's place in the stream: one literal subject for each endpoint, event and kind,
// so that planning twice is planning once.
func (d Delivery) Name() string {
	return strings.Join([]string{string(d.Account), string(d.Endpoint), d.EventID, d.Kind.token()}, ".")
}

// lane is the name's part that one endpoint's deliveries share.
func (d Delivery) lane() string { return string(d.Account) + "." + string(d.Endpoint) }

// laneOf cuts the lane out of a delivery's name.
func laneOf(name string) (string, bool) {
	parts := strings.Split(name, ".")
	if len(parts) != 4 {
		return "", false
	}
	return parts[0] + "." + parts[1], true
}

// plan makes the delivery of r to an endpoint.
func plan(r *eventstore.Recorded, endpoint domain.EndpointID, kind Kind, planner string, at time.Time) Delivery {
	return Delivery{
		Schema: deliverySchema, Account: r.Account, Endpoint: endpoint, Kind: kind, EventID: r.EventID,
		Shard: r.Shard, Seq: r.Seq, Aggregate: r.Aggregate, AggregateID: r.ID, Revision: r.Revision,
		PlannedAt: at, Planner: planner, Status: Planned,
	}
}

// ended gives the delivery after one more attempt.
func (d Delivery) ended(a Attempt) Delivery {
	a.Number = len(d.Attempts) + 1
	d.Attempts = append(d.Attempts[:len(d.Attempts):len(d.Attempts)], a)
	d.Status = Succeeded
	if a.Failure != "" {
		d.Status = Failed
	}
	return d
}

func (d Delivery) encode() ([]byte, error) {
	b, err := eventstore.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("notifier: delivery %s: %w", d.Name(), err)
	}
	return b, nil
}

// decodeDelivery reads a record of the stream; one that this build cannot keep whole is an error.
func decodeDelivery(stored eventstore.StoredDelivery) (Delivery, error) {
	var d Delivery
	err := eventstore.Unmarshal(stored.Body, &d)
	switch {
	case err != nil:
	case d.Schema > deliverySchema:
		err = fmt.Errorf("%w: schema %d, known is %d", ErrNewerRecord, d.Schema, deliverySchema)
	case d.Schema < 1 || d.Name() != stored.Name:
		err = fmt.Errorf("it is not the record of that name")
	}
	if err != nil {
		return d, fmt.Errorf("notifier: delivery %s at sequence %d: %w", stored.Name, stored.Seq, err)
	}
	return d, nil
}
