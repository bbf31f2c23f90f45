package deliveries

import (
	"time"

	"payledger/domain"
)

// Row is one delivery as the list shows it.
type Row struct {
	ID          string // for the outside
	Name        string // in the stream
	Seq         uint64 // place of its newest record
	Account     domain.AccountID
	Endpoint    domain.EndpointID
	EventType   string // of the webhook (§6.2)
	EventID     string
	Aggregate   string // whose event it is: "payment", …
	AggregateID string
	Status      string
	PlannedAt   time.Time
	UpdatedAt   time.Time // when the last attempt ended, or PlannedAt
	NextAt      time.Time // when the next attempt is due; zero: none is
	Attempts    int
	StatusCode  int    // of the last attempt; 0: no answer
	Failure     string // of the last attempt; "": it succeeded, or there was none
	Dropped     bool   // its record, with the attempts, is not kept any more; no column: the stream says so
}

// Attempt is one try to send.
type Attempt struct {
	Number     int
	StartedAt  time.Time
	Duration   time.Duration
	StatusCode int    // 0: no answer
	Failure    string // "": it succeeded
	Manual     bool   // a person or a replay asked for it
	Excerpt    string // the answer's first bytes
	Keys       []string
}

// Detail is a delivery with its attempts, oldest first.
type Detail struct {
	Row
	Tried []Attempt
}

// Filter selects deliveries of an account. Of a field with several values one must match; an empty field matches all.
type Filter struct {
	Statuses   []string          `json:"outcome"`
	EventTypes []string          `json:"eventType"`
	Endpoint   domain.EndpointID `json:"endpointId"`
	Payment    domain.PaymentID  `json:"paymentId"`
	From       *time.Time        `json:"from"` // of planning, inclusive
	To         *time.Time        `json:"to"`
}

// Place is a place between deliveries: right after the one that was planned then.
type Place struct {
	At time.Time
	ID string
}

// Page is one page of a list, newest first; Next is nil where there is nothing more.
type Page struct {
	Data []Row
	Next *Place
}

// ReplayRequest asks for the webhooks of events of a time again, or for the first time (D18, D20).
type ReplayRequest struct {
	Account    domain.AccountID
	Endpoint   domain.EndpointID
	From, To   time.Time // of the events, inclusive
	EventTypes []string  // of the webhooks; empty: those that the endpoint takes now
	OnlyFailed bool      // only deliveries that are FAILED, EXHAUSTED or CANCELLED at the request
}

// Replay is a replay as it stands.
type Replay struct {
	ReplayRequest
	ID        string
	CreatedAt time.Time
	State     ReplayState
	Count     int    // of webhooks to be sent, as counted at the request
	Done      int    // of them: sent, or found to need no sending any more
	Failure   string // why it ended early
}

// ReplayState is where a replay stands.
type ReplayState string

// The states of a replay.
const (
	ReplayRunning ReplayState = "RUNNING"
	ReplayDone    ReplayState = "DONE"
	ReplayFailed  ReplayState = "FAILED" // its endpoint takes no webhooks any more
)
