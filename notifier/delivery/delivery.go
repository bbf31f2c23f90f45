package delivery

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/format"
)

// Schema is the schema version of a Delivery's bytes. It is 1 until the first release. From then
// on, raise it when a field's meaning changes, convert older records in Decode, and freeze the
// golden bytes in notifier/testdata.
const Schema = 1

// ErrNewerRecord means that a newer build wrote the record. This build would lose fields if it
// wrote the record again.
var ErrNewerRecord = errors.New("notifier: record written by a newer schema")

// MaxManual bounds the manual attempts of a delivery: each attempt adds to the delivery's record,
// which must fit into a message of the store.
const MaxManual = 1000

// ErrMaxManual means that MaxManual manual attempts of the delivery are recorded.
var ErrMaxManual = fmt.Errorf("notifier: the delivery has %d manual attempts", MaxManual)

// maxRecord is the size in bytes from which Encode leaves out excerpts. It is far above the largest
// record of MaxManual attempts, and far below the store's limit.
const maxRecord = 2 << 20

// Permanent reports whether repeating an operation that failed with err cannot help.
func Permanent(err error) bool {
	return errors.Is(err, format.ErrNewerSchema) || errors.Is(err, format.ErrUnknownEvent) ||
		errors.Is(err, ErrNewerRecord)
}

// Status is the state of a delivery.
type Status string

// The states of a delivery. Planned and Failed are open: an automatic attempt follows.
const (
	Planned   Status = "PLANNED"   // no automatic attempt was made; manual ones may exist
	Failed    Status = "FAILED"    // the last automatic attempt failed, the next is due at NextAt (§6.1)
	Succeeded Status = "SUCCEEDED" // an attempt was answered with 2xx
	Exhausted Status = "EXHAUSTED" // all automatic attempts failed; a person can still resend it (D18)
	Cancelled Status = "CANCELLED" // its endpoint was deleted or disabled when an attempt was due
)

// Open reports whether automatic attempts follow.
func (s Status) Open() bool { return s == Planned || s == Failed }

// Delivery is one webhook for one endpoint. It refers to the event, and has no body and no personal
// data: the body is rendered for each attempt.
type Delivery struct {
	Schema      int               `json:"schema"`
	Account     domain.AccountID  `json:"accountId"`
	Endpoint    domain.EndpointID `json:"endpointId"`
	Kind        webhook.Kind      `json:"eventType"`
	EventID     string            `json:"eventId"`
	Shard       int               `json:"shard"` // with Seq: the event's address in the log
	Seq         uint64            `json:"seq"`
	Aggregate   string            `json:"aggregate"` // of the event
	AggregateID string            `json:"aggregateId"`
	Revision    uint64            `json:"revision"`
	PlannedAt   time.Time         `json:"plannedAt"`
	Planner     string            `json:"planner"` // owner id of the planning node, so that no two nodes write the same bytes
	Status      Status            `json:"status"`
	Attempts    []Attempt         `json:"attempts,omitempty"` // oldest first
	NextAt      time.Time         `json:"nextAt,omitempty"`   // when the next attempt is due; only while FAILED
	Sender      string            `json:"sender,omitempty"`   // in a cluster: owner id of the node that tried it last or took it over
	TakenAt     time.Time         `json:"takenAt,omitempty"`  // when Sender took it over; zero after Sender's attempt
}

// Attempt is one attempt to send, with its outcome.
type Attempt struct {
	Number     int       `json:"number"` // from 1
	StartedAt  time.Time `json:"startedAt"`
	Duration   int64     `json:"durationMicros"`       // until the status line, or the failure
	StatusCode int       `json:"statusCode,omitempty"` // 0: no status line arrived
	Failure    Failure   `json:"failure,omitempty"`    // "" when it succeeded
	Manual     bool      `json:"manual,omitempty"`     // a person or a replay requested it
	Excerpt    string    `json:"excerpt,omitempty"`    // the answer's first bytes as text, at most sender.ExcerptLimit
	Keys       []string  `json:"keys,omitempty"`       // names of the secrets that signed it, primary first (§5.2)
	Request    string    `json:"request,omitempty"`    // hash of the idempotency key of the request for it; "" for none
}

// Failure is the class of a failed attempt; "" is success.
type Failure string

// The classes of failed attempts.
const (
	FailureStatus     Failure = "STATUS"             // the answer's status was not 2xx (§6.1: 3xx is a failure)
	FailureTimeout    Failure = "TIMEOUT"            // no status line in time
	FailureDNS        Failure = "DNS"                // the host's name could not be resolved
	FailureRefused    Failure = "CONNECTION_REFUSED" // no program listens at the address
	FailureUnreached  Failure = "UNREACHABLE"        // no connection for another reason
	FailureTLS        Failure = "TLS"                // the handshake failed, or the certificate is not valid
	FailureConnection Failure = "CONNECTION_LOST"    // the connection ended before the status line
	FailureProtocol   Failure = "PROTOCOL"           // the answer has no status line of HTTP
	FailureAddress    Failure = "ADDRESS_REFUSED"    // webhooks may not go to the address or URL (D18)
)

// RequestOf returns the value of Attempt.Request for an idempotency key.
func RequestOf(key string) string {
	if key == "" {
		return ""
	}
	return IDOf(key)
}

// Requested reports whether an attempt was made with this non-empty request hash.
func (d Delivery) Requested(request string) bool {
	return slices.ContainsFunc(d.Attempts, func(a Attempt) bool { return a.Request == request })
}

// ID returns the delivery's id for clients. The id is stable, fits into a URL, and discloses
// nothing.
func (d Delivery) ID() string { return IDOf(d.Name()) }

// IDOf returns the id of the delivery with a name.
func IDOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}

// Name returns the delivery name: the name of its record in the stream. Planning the event again
// gives the same name.
func (d Delivery) Name() string {
	return strings.Join([]string{string(d.Account), string(d.Endpoint), d.EventID, d.Kind.Token()}, ".")
}

// Lane returns the part of the name that all deliveries of the endpoint share.
func (d Delivery) Lane() string { return string(d.Account) + "." + string(d.Endpoint) }

// Plan returns the new delivery of r to an endpoint.
func Plan(r *eventstore.Recorded, endpoint domain.EndpointID, kind webhook.Kind, planner string, at time.Time) Delivery {
	return Delivery{
		Schema: Schema, Account: r.Account, Endpoint: endpoint, Kind: kind, EventID: r.EventID,
		Shard: r.Shard, Seq: r.Seq, Aggregate: r.Aggregate, AggregateID: r.ID, Revision: r.Revision,
		PlannedAt: at, Planner: planner, Status: Planned,
	}
}

// CheckManual returns ErrMaxManual if no further manual attempt may be made.
func (d Delivery) CheckManual() error {
	if len(d.Attempts)-d.AutomaticAttempts() >= MaxManual {
		return ErrMaxManual
	}
	return nil
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

// WithAttempt returns the delivery after one more attempt. After a failed automatic attempt another
// one follows, as long as the schedule has a delay (D18). A failed manual attempt changes only the
// list of attempts.
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

// LastTried returns the end of the last automatic attempt, from which the next delay counts, or
// without one the time of planning.
func (d Delivery) LastTried() time.Time {
	for _, a := range slices.Backward(d.Attempts) {
		if !a.Manual {
			return a.End()
		}
	}
	return d.PlannedAt
}

// End returns the time when the attempt's outcome was known.
func (a Attempt) End() time.Time {
	return a.StartedAt.Add(time.Duration(a.Duration) * time.Microsecond)
}

// Cancel returns the delivery as CANCELLED, for an endpoint that is deleted or disabled.
func (d Delivery) Cancel() Delivery {
	d.Schema, d.Status, d.NextAt, d.TakenAt = Schema, Cancelled, time.Time{}, time.Time{}
	return d
}

// Encode returns the bytes of the record. A record that would be larger than maxRecord loses the
// excerpts of manual attempts, the oldest first: the store refuses a larger one, and the outcome of
// an attempt must be recorded.
func (d Delivery) Encode() ([]byte, error) {
	b, err := codec.Marshal(d)
	if over := len(b) - maxRecord; err == nil && over > 0 {
		b, err = codec.Marshal(d.withoutExcerpts(over))
	}
	if err != nil {
		return nil, fmt.Errorf("notifier: delivery %s: %w", d.Name(), err)
	}
	return b, nil
}

// withoutExcerpts returns the delivery without the excerpts of its oldest manual attempts, about as
// many bytes in total.
func (d Delivery) withoutExcerpts(bytes int) Delivery {
	d.Attempts = slices.Clone(d.Attempts)
	for i := range d.Attempts {
		if a := &d.Attempts[i]; a.Manual && bytes > 0 {
			bytes -= len(a.Excerpt)
			a.Excerpt = ""
		}
	}
	return d
}

// Decode returns the delivery of a stored record. A record of a newer schema is ErrNewerRecord.
func Decode(stored deliverylog.Record) (Delivery, error) {
	var d Delivery
	err := codec.Unmarshal(stored.Body, &d)
	switch {
	case err != nil:
	case d.Schema > Schema:
		err = fmt.Errorf("%w: schema %d, known is %d", ErrNewerRecord, d.Schema, Schema)
	case d.Schema < 1 || d.Name() != stored.Name:
		err = errors.New("its schema or its name is wrong")
	}
	if err != nil {
		return d, fmt.Errorf("notifier: delivery %s at sequence %d: %w", stored.Name, stored.Seq, err)
	}
	return d, nil
}
