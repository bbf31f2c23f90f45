package deliveries

import (
	"context"
	"time"

	"payledger/domain"
)

// Row is one delivery as the list shows it.
type Row struct {
	ID          string // for clients
	Name        string // in the stream of deliveries
	Seq         uint64 // place of its newest record in the stream
	Account     domain.AccountID
	Endpoint    domain.EndpointID
	EventType   string // of the webhook (§6.2)
	EventID     string
	Aggregate   string // of the event: "payment", …
	AggregateID string
	Status      string
	PlannedAt   time.Time
	UpdatedAt   time.Time // when the last attempt ended, or PlannedAt
	NextAt      time.Time // when the next attempt is due; zero: no attempt is due
	Attempts    int
	StatusCode  int       // of the last attempt; 0: no answer
	Failure     string    // of the last attempt; "": it succeeded, or there was no attempt
	Failed      int       // attempts that failed
	SucceededAt time.Time // end of the first attempt that succeeded; zero: none did
	SucceededBy int       // number of that attempt; 0: none did
	Dropped     bool      // the stream dropped its record, with the attempts; not a column
}

// Attempt is one attempt to send a webhook.
type Attempt struct {
	Number     int
	StartedAt  time.Time
	Duration   time.Duration
	StatusCode int      // 0: no answer
	Failure    string   // "": it succeeded
	Manual     bool     // a person or a replay requested it
	Excerpt    string   // the answer's first bytes
	Keys       []string // names of the secrets that signed it
}

// Detail is a delivery with its attempts, oldest first.
type Detail struct {
	Row
	Tried []Attempt
	Body  []byte // JSON, rendered when it was read; nil: it was not read, or there is none any more
}

// Filter selects deliveries of an account. A delivery must match one of a field's values. An empty
// field matches all.
type Filter struct {
	Statuses   []string          `json:"outcome"`
	EventTypes []string          `json:"eventType"`
	Endpoint   domain.EndpointID `json:"endpointId"`
	Payment    domain.PaymentID  `json:"paymentId"`
	From       *time.Time        `json:"from"`                 // of planning, inclusive
	To         *time.Time        `json:"to"`                   // of planning, inclusive
	EverFailed bool              `json:"everFailed,omitempty"` // only those of which an attempt failed, also if a later one succeeded
}

// ResendRequest is a request for a further attempt of a delivery.
type ResendRequest struct {
	Key string // the idempotency key of the request; "" for none
	// Record, if set, records the request in the log of events before the attempt. After an error
	// there is no attempt.
	Record func(context.Context, Row) error
}

// ReplayRequest requests the webhooks of a time range: sent ones again, missing ones for the first
// time (D18, D20).
type ReplayRequest struct {
	Account    domain.AccountID
	Endpoint   domain.EndpointID
	From, To   time.Time // of the events, inclusive
	EventTypes []string  // of the webhooks; empty: the types that the endpoint takes now
	OnlyFailed bool      // only deliveries that are FAILED, EXHAUSTED or CANCELLED at the time of the request
	Key        string    // the idempotency key of the request; "" for none, and in a Replay
	// Record, if set, records the replay in the log of events before it begins. After an error
	// nothing begins.
	Record func(context.Context, Replay) error
}

// Replay is a replay with its progress.
type Replay struct {
	ReplayRequest
	ID        string
	CreatedAt time.Time
	State     ReplayState
	Count     int    // number of webhooks to send, counted at the request
	Done      int    // number of these that were sent or need no sending any more
	Failure   string // why the replay ended early
}

// ReplayState is the state of a replay.
type ReplayState string

const (
	ReplayRunning ReplayState = "RUNNING"
	ReplayDone    ReplayState = "DONE"
	ReplayFailed  ReplayState = "FAILED" // it ended early; Failure has the reason
)

// Unreadable wraps a failure to read deliveries (D3).
func Unreadable(err error) error {
	return &domain.Error{
		Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable,
		Message: "The deliveries cannot be read now.", Recovery: "Repeat the request.", Err: err,
	}
}
