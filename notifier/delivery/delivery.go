package delivery

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/codec"
)

// Schema is the schema version of a Delivery's bytes: raise it when a field's meaning changes, and
// upgrade older bytes in decodeDelivery; the golden bytes in testdata stay for ever.
const Schema = 2

// ErrNewerRecord means that a newer build wrote the record: this one would drop fields of it.
var ErrNewerRecord = errors.New("notifier: record written by a newer schema")

// Status is the state of a delivery.
type Status string

// The states of a delivery. The first two are open: more is to come of itself.
const (
	Planned   Status = "PLANNED"   // no automatic attempt was made
	Failed    Status = "FAILED"    // the last automatic attempt failed, the next is due at NextAt (§6.1)
	Succeeded Status = "SUCCEEDED" // an attempt was answered with 2xx
	Exhausted Status = "EXHAUSTED" // all automatic attempts failed; a person can still resend it (D18)
	Cancelled Status = "CANCELLED" // its endpoint was deleted or disabled when an attempt was due
)

// Open reports whether automatic attempts follow.
func (s Status) Open() bool { return s == Planned || s == Failed }

// Delivery is one webhook for one endpoint. It holds references to the event and never the body: the payload is rendered
// for each attempt, and no personal data is in the record. Each attempt writes the record again, whole.
type Delivery struct {
	Schema      int               `json:"schema"`
	Account     domain.AccountID  `json:"accountId"`
	Endpoint    domain.EndpointID `json:"endpointId"`
	Kind        webhook.Kind      `json:"eventType"`
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
	NextAt      time.Time         `json:"nextAt,omitempty"`   // when the next attempt is due; only while FAILED
	Sender      string            `json:"sender,omitempty"`   // of several processes the one that tried it last or took it over
	TakenAt     time.Time         `json:"takenAt,omitempty"`  // when Sender took it over; only until its attempt
}

// Attempt is one attempt to send, with its outcome.
type Attempt struct {
	Number     int       `json:"number"` // from 1
	StartedAt  time.Time `json:"startedAt"`
	Duration   int64     `json:"durationMicros"`       // until the status line, or the failure
	StatusCode int       `json:"statusCode,omitempty"` // 0: no status line came
	Failure    Failure   `json:"failure,omitempty"`    // "" when it succeeded
	Manual     bool      `json:"manual,omitempty"`     // a person or a replay asked for it
	Excerpt    string    `json:"excerpt,omitempty"`    // the answer's first bytes as text, at most excerptLimit
	Keys       []string  `json:"keys,omitempty"`       // names of the secrets it was signed with, primary first (§5.2)
}

// Failure says why an attempt failed; "" is success.
type Failure string

// The classes of failed attempts.
const (
	FailureStatus     Failure = "STATUS"             // an answer came, but not 2xx (§6.1: 3xx too)
	FailureTimeout    Failure = "TIMEOUT"            // no status line in time
	FailureDNS        Failure = "DNS"                // the host's name could not be resolved
	FailureRefused    Failure = "CONNECTION_REFUSED" // nobody listens
	FailureUnreached  Failure = "UNREACHABLE"        // no connection for another reason
	FailureTLS        Failure = "TLS"                // the handshake or the certificate
	FailureConnection Failure = "CONNECTION_LOST"    // cut before the status line
	FailureProtocol   Failure = "PROTOCOL"           // what came is not HTTP
	FailureAddress    Failure = "ADDRESS_REFUSED"    // an address or URL that webhooks do not go to (D18)
)

// idBytes is the number of bytes of the name's hash in an id.
const idBytes = 16

// ID returns the delivery's id for clients: it is stable, fits into a URL, and discloses nothing.
func (d Delivery) ID() string { return IDOf(d.Name()) }

// IDOf returns the id of the delivery with a name.
func IDOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:idBytes]))
}

// Name returns the delivery's name in the stream. It is the same whenever the event is planned.
func (d Delivery) Name() string {
	return strings.Join([]string{string(d.Account), string(d.Endpoint), d.EventID, d.Kind.Token()}, ".")
}

// Lane returns the part of the name that all deliveries of the endpoint share.
func (d Delivery) Lane() string { return string(d.Account) + "." + string(d.Endpoint) }

// LaneOf returns the lane in a delivery's name.
func LaneOf(name string) (string, bool) {
	parts := strings.Split(name, ".")
	if len(parts) != 4 {
		return "", false
	}
	return parts[0] + "." + parts[1], true
}

// Plan returns the new delivery of r to an endpoint.
func Plan(r *eventstore.Recorded, endpoint domain.EndpointID, kind webhook.Kind, planner string, at time.Time) Delivery {
	return Delivery{
		Schema: Schema, Account: r.Account, Endpoint: endpoint, Kind: kind, EventID: r.EventID,
		Shard: r.Shard, Seq: r.Seq, Aggregate: r.Aggregate, AggregateID: r.ID, Revision: r.Revision,
		PlannedAt: at, Planner: planner, Status: Planned,
	}
}

// AutomaticAttempts counts the attempts that were not manual.
func (d Delivery) AutomaticAttempts() (n int) {
	for _, a := range d.Attempts {
		if !a.Manual {
			n++
		}
	}
	return n
}

// WithAttempt returns the delivery after one more attempt. A failed automatic attempt is followed by another one after
// its delay, as long as the schedule has one (D18). A failed manual attempt changes only the list of attempts.
func (d Delivery) WithAttempt(a Attempt, retries Schedule) Delivery {
	a.Number = len(d.Attempts) + 1
	d.Schema, d.TakenAt = Schema, time.Time{}
	d.Attempts = append(d.Attempts[:len(d.Attempts):len(d.Attempts)], a)
	switch {
	case a.Failure == "":
		d.Status, d.NextAt = Succeeded, time.Time{}
	case !a.Manual:
		d.Status, d.NextAt = Exhausted, time.Time{}
		if wait, more := retries.after(d.AutomaticAttempts()); more {
			d.Status, d.NextAt = Failed, a.End().Add(wait).Truncate(time.Microsecond)
		}
	}
	return d
}

// LastTried returns the end of the last automatic attempt, from which the delay until the next one counts. Without an
// attempt it returns the time of planning.
func (d Delivery) LastTried() time.Time {
	for i := len(d.Attempts) - 1; i >= 0; i-- {
		if a := d.Attempts[i]; !a.Manual {
			return a.End()
		}
	}
	return d.PlannedAt
}

// End returns the time when the attempt's outcome was known.
func (a Attempt) End() time.Time {
	return a.StartedAt.Add(time.Duration(a.Duration) * time.Microsecond)
}

// Cancel returns the delivery for an endpoint that takes no webhooks any more.
func (d Delivery) Cancel() Delivery {
	d.Schema, d.Status, d.NextAt, d.TakenAt = Schema, Cancelled, time.Time{}, time.Time{}
	return d
}

// Encode returns the bytes of the record.
func (d Delivery) Encode() ([]byte, error) {
	b, err := codec.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("notifier: delivery %s: %w", d.Name(), err)
	}
	return b, nil
}

// Decode reads a record of the stream. A record that this build cannot write back whole is an error.
func Decode(stored eventstore.StoredDelivery) (Delivery, error) {
	var d Delivery
	err := codec.Unmarshal(stored.Body, &d)
	switch {
	case err != nil:
	case d.Schema > Schema:
		err = fmt.Errorf("%w: schema %d, known is %d", ErrNewerRecord, d.Schema, Schema)
	case d.Schema < 1 || d.Name() != stored.Name:
		err = fmt.Errorf("it is not the record of that name")
	}
	if err != nil {
		return d, fmt.Errorf("notifier: delivery %s at sequence %d: %w", stored.Name, stored.Seq, err)
	}
	return d.upgraded(), nil
}

// upgraded returns a record of an older schema as this build would have written it. Builds of schema 1 made one attempt
// and no retries: their FAILED is EXHAUSTED.
func (d Delivery) upgraded() Delivery {
	if d.Schema == 1 && d.Status == Failed {
		d.Status = Exhausted
	}
	d.Schema = Schema
	return d
}
