package history

import (
	"context"
	"fmt"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/commands/causes"
	"payledger/projections/deliveries"
	"payledger/projections/paymentjson"
)

// Deliveries reads the records of webhooks.
type Deliveries interface {
	// Find returns the delivery of an event's webhook to an endpoint, with its attempts. It returns
	// false if there is no record.
	Find(ctx context.Context, e *eventstore.Recorded, endpoint domain.EndpointID, kind webhook.Kind) (deliveries.Detail, bool, error)
	// MayBeDropped reports whether records of an event's webhooks may have been dropped.
	MayBeDropped(e *eventstore.Recorded) bool
}

// Webhook is a webhook that an event caused, for one endpoint.
type Webhook struct {
	EndpointID domain.EndpointID `json:"endpointId"` // the endpoint may be deleted
	EventType  webhook.Kind      `json:"eventType"`
	// Dropped means that the delivery's retention is over. All other fields are then empty.
	Dropped   bool              `json:"dropped,omitempty"`
	ID        string            `json:"id,omitempty"` // of the delivery (D20)
	Outcome   string            `json:"outcome,omitempty"`
	PlannedAt *paymentjson.Time `json:"plannedAt,omitempty"`
	NextAt    *paymentjson.Time `json:"nextAttemptAt,omitempty"`
	Attempts  []WebhookAttempt  `json:"attempts,omitempty"` // oldest first
}

// WebhookAttempt is one attempt to send a webhook, with the receiver's answer.
type WebhookAttempt struct {
	Number     int              `json:"number"`
	StartedAt  paymentjson.Time `json:"startedAt"`
	Duration   int64            `json:"durationMs"`
	StatusCode int              `json:"statusCode,omitempty"` // 0: no answer
	Failure    string           `json:"failure,omitempty"`    // "": the attempt succeeded
	Manual     bool             `json:"manual"`
	Excerpt    string           `json:"excerpt"` // the answer's first bytes
	Keys       []string         `json:"keys"`    // names of the secrets that signed the request
}

// HideAnswers removes the receivers' answers and the names of secrets from the entry's webhooks:
// events:read does not show them (D2, D20).
func (e *Entry) HideAnswers() {
	for _, w := range e.Webhooks {
		for i := range w.Attempts {
			w.Attempts[i].Excerpt, w.Attempts[i].Keys = "", []string{}
		}
	}
}

// webhooks adds the webhooks of an event, and the kinds that no endpoint was subscribed to.
func (r *replay) webhooks(ctx context.Context, e *eventstore.Recorded, to *Beside) error {
	row, err := causes.Candidates(e)
	if err != nil || len(row) == 0 {
		return err
	}
	if err := r.actors.readAccount(ctx); err != nil {
		return err
	}
	for _, c := range row {
		if err := r.webhook(ctx, e, c, to); err != nil {
			return fmt.Errorf("history: webhooks of event %d: %w", e.Revision, err)
		}
	}
	return nil
}

func (r *replay) webhook(ctx context.Context, e *eventstore.Recorded, c webhook.Candidate, to *Beside) error {
	var sent, wanting []Webhook
	for _, id := range r.actors.endpoints() {
		d, found, err := r.Deliveries.Find(ctx, e, id, c.Kind)
		switch {
		case err != nil:
			return err
		case found:
			sent = append(sent, webhookOf(d))
		case r.actors.wanted(id, c.Kind, e.Time):
			wanting = append(wanting, Webhook{EndpointID: id, EventType: c.Kind, Dropped: true})
		}
	}
	to.Webhooks = append(to.Webhooks, sent...)
	dropped, none := len(wanting) > 0 && r.Deliveries.MayBeDropped(e), len(sent)+len(wanting) == 0
	if !dropped && !none {
		return nil
	}
	holds, err := causes.Holds(ctx, r.Store, e, c.When, r.Store.Read)
	switch {
	case err != nil || !holds:
		return err
	case dropped:
		to.Webhooks = append(to.Webhooks, wanting...)
	default:
		to.NoEndpoint = append(to.NoEndpoint, c.Kind)
	}
	return nil
}

func webhookOf(d deliveries.Detail) Webhook {
	w := Webhook{
		EndpointID: d.Endpoint, EventType: webhook.Kind(d.EventType), ID: d.ID, Outcome: d.Status, PlannedAt: &paymentjson.Time{Time: d.PlannedAt},
	}
	if !d.NextAt.IsZero() {
		w.NextAt = &paymentjson.Time{Time: d.NextAt}
	}
	for _, a := range d.Tried {
		w.Attempts = append(w.Attempts, RenderAttempt(a))
	}
	return w
}

// RenderAttempt returns an attempt in the form of the API.
func RenderAttempt(a deliveries.Attempt) WebhookAttempt {
	return WebhookAttempt{
		Number: a.Number, StartedAt: paymentjson.Time{Time: a.StartedAt}, Duration: a.Duration.Milliseconds(), StatusCode: a.StatusCode,
		Failure: a.Failure, Manual: a.Manual, Excerpt: a.Excerpt, Keys: append([]string{}, a.Keys...),
	}
}

// endpointsAt has the webhook endpoints of an account from a time on, until the next change.
type endpointsAt struct {
	since time.Time
	all   []account.Endpoint
}

func (a *actors) endpoints() (ids []domain.EndpointID) {
	for _, then := range a.hooks {
		for _, e := range then.all {
			if !slices.Contains(ids, e.ID) {
				ids = append(ids, e.ID)
			}
		}
	}
	return ids
}

func (a *actors) wanted(id domain.EndpointID, kind webhook.Kind, at time.Time) (wanted bool) {
	for _, then := range a.hooks {
		if then.since.After(at) {
			continue // a later change may be before: with two nodes' clocks, times may go back
		}
		wanted = slices.ContainsFunc(then.all, func(e account.Endpoint) bool { return e.ID == id && e.Wants(string(kind)) })
	}
	return wanted
}
