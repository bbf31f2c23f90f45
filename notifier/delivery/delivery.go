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

// Status is where a delivery stands.
type Status string

// The states of a delivery. The first two are open: more is to come of itself.
const (
	Planned   Status = "PLANNED"   // no automatic attempt was made
	Failed    Status = "FAILED"    // the last automatic attempt failed, the next is due at NextAt (§6.1)
	Succeeded Status = "SUCCEEDED" // an attempt was answered with 2xx
	Exhausted Status = "EXHAUSTED" // all automatic attempts failed; a person can still resend it (D18)
	Cancelled Status = "CANCELLED" // its endpoint was deleted or disabled when an attempt was due
)

// Open tells whether attempts are still made without being asked for.
func (s Status) Open() bool { return s == Planned || s == Failed }

// Delivery is one webhook for one endpoint: references to what it tells, never the body, so that no
// personal data stands here and the payload is made anew for each attempt. Its record in the stream is
// written again, whole, after each attempt.
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

// Attempt is one try to send, as it ended.
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

// idBytes is how much of a name's hash makes an id.
const idBytes = 16

// ID is the delivery's id for the outside: it stays the same, fits into a URL, and tells nothing.
func (d Delivery) ID() string { return IDOf(d.Name()) }

// IDOf gives the id of the delivery of a name.
func IDOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:idBytes]))
}

// Name is the delivery's place in the stream: one literal subject for each endpoint, event and kind,
// so that planning twice is planning once.
func (d Delivery) Name() string {
	return strings.Join([]string{string(d.Account), string(d.Endpoint), d.EventID, d.Kind.Token()}, ".")
}

// Lane is the name's part that one endpoint's deliveries share.
func (d Delivery) Lane() string { return string(d.Account) + "." + string(d.Endpoint) }

// LaneOf cuts the lane out of a delivery's name.
func LaneOf(name string) (string, bool) {
	parts := strings.Split(name, ".")
	if len(parts) != 4 {
		return "", false
	}
	return parts[0] + "." + parts[1], true
}

// Plan makes the delivery of r to an endpoint.
func Plan(r *eventstore.Recorded, endpoint domain.EndpointID, kind webhook.Kind, planner string, at time.Time) Delivery {
	return Delivery{
		Schema: Schema, Account: r.Account, Endpoint: endpoint, Kind: kind, EventID: r.EventID,
		Shard: r.Shard, Seq: r.Seq, Aggregate: r.Aggregate, AggregateID: r.ID, Revision: r.Revision,
		PlannedAt: at, Planner: planner, Status: Planned,
	}
}

// AutomaticAttempts counts the attempts that were made without being asked for.
func (d Delivery) AutomaticAttempts() (n int) {
	for _, a := range d.Attempts {
		if !a.Manual {
			n++
		}
	}
	return n
}

// WithAttempt gives the delivery after one more attempt. A failed automatic one is followed by another after its delay,
// as long as there is one (D18); a failed manual one changes nothing but the list of attempts.
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

// LastTried is when the last automatic attempt ended, from which the delay until the next one counts; without one, when the
// delivery was planned.
func (d Delivery) LastTried() time.Time {
	for i := len(d.Attempts) - 1; i >= 0; i-- {
		if a := d.Attempts[i]; !a.Manual {
			return a.End()
		}
	}
	return d.PlannedAt
}

// End is when the attempt's outcome was known.
func (a Attempt) End() time.Time {
	return a.StartedAt.Add(time.Duration(a.Duration) * time.Microsecond)
}

// Cancel gives the delivery when its endpoint takes no webhooks any more.
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

// Decode reads a record of the stream; one that this build cannot keep whole is an error.
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

// upgraded gives a record of an older schema as this build would have written it. Builds of schema 1 made one
// attempt and no retries: what failed then is over.
func (d Delivery) upgraded() Delivery {
	if d.Schema == 1 && d.Status == Failed {
		d.Status = Exhausted
	}
	d.Schema = Schema
	return d
}
