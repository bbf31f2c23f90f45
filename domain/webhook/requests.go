package webhook

import (
	"time"

	"payledger/domain"
)

// Requests counts an account's requests to send webhooks again. A request with an idempotency key
// has Requests of its own.
type Requests struct {
	Account   domain.AccountID `json:"accountId"`
	Revision  uint64           `json:"revision"`
	UpdatedAt time.Time        `json:"updatedAt"`
	Resends   int64            `json:"resends,omitempty"` // number of requested attempts
	Replays   int64            `json:"replays,omitempty"` // number of requested replays
}

// Event is a fact about requests to send webhooks again. The sending itself is recorded beside the
// log.
type Event interface {
	domain.Event
	webhookEvent()
}

// Events lists every event type.
func Events() []Event { return []Event{ResendRequested{}, ReplayRequested{}} }

// ResendRequested says that somebody requested a further attempt of one delivery. The attempt
// follows.
type ResendRequested struct {
	At        time.Time         `json:"at"`                  // when it was decided, UTC
	Account   domain.AccountID  `json:"accountId"`           // the merchant account
	Delivery  string            `json:"deliveryId"`          // the delivery to send again
	Endpoint  domain.EndpointID `json:"endpointId"`          // the receiver
	EventType string            `json:"eventType"`           // of the webhook
	Payment   domain.PaymentID  `json:"paymentId,omitempty"` // the payment that the webhook is about; absent: it is about something else
}

// ReplayRequested says that somebody requested to send the webhooks of past events to one endpoint.
// The replay follows.
type ReplayRequested struct {
	At         time.Time         `json:"at"`                   // when it was decided, UTC
	Account    domain.AccountID  `json:"accountId"`            // the merchant account
	Replay     string            `json:"replayId"`             // the new replay
	Endpoint   domain.EndpointID `json:"endpointId"`           // the receiver
	Since      time.Time         `json:"since"`                // of events recorded from then on, UTC
	Until      time.Time         `json:"until"`                // to then, UTC
	EventTypes []string          `json:"eventTypes"`           // of the webhooks
	OnlyFailed bool              `json:"onlyFailed,omitempty"` // only deliveries that have not succeeded
	Count      int64             `json:"count"`                // webhooks to send, as counted at the request
}

func (ResendRequested) Type() string { return "webhook.resend_requested" }
func (ReplayRequested) Type() string { return "webhook.replay_requested" }

func (ResendRequested) webhookEvent() {}
func (ReplayRequested) webhookEvent() {}

// EvolveRequests returns the state after the event.
func EvolveRequests(s Requests, e Event) Requests {
	s.Revision++
	switch e := e.(type) {
	case ResendRequested:
		s.Account, s.UpdatedAt, s.Resends = e.Account, e.At, s.Resends+1
	case ReplayRequested:
		s.Account, s.UpdatedAt, s.Replays = e.Account, e.At, s.Replays+1
	}
	return s
}
