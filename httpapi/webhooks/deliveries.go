package webhooks

import (
	"context"
	"encoding/json"
	"net/url"

	"payledger/domain"
	"payledger/domain/webhook"
	"payledger/eventstore/commands"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections/deliveries"
	"payledger/projections/history"
	"payledger/projections/listing"
	"payledger/projections/paymentjson"
)

// Deliveries is the log of webhook deliveries (D18, D20). An unknown id, and one of another
// account, is EntityNotFound.
type Deliveries interface {
	// List returns a page of at most limit deliveries, newest first, after the place from; nil:
	// from the newest on.
	List(ctx context.Context, account domain.AccountID, f deliveries.Filter, from *listing.Place, limit int) (listing.Page[deliveries.Row], error)
	// Records calls emit with the deliveries as their records after a place have them. If more
	// records may follow, next is the place it reached.
	Records(ctx context.Context, account domain.AccountID, after uint64, limit int, emit func(deliveries.Recorded) error) (next uint64, err error)
	Delivery(ctx context.Context, account domain.AccountID, id string) (deliveries.Detail, error)
	// Counts counts the deliveries that were planned in a period.
	Counts(ctx context.Context, account domain.AccountID, p deliveries.Period) (deliveries.Statistics, error)
	// Resend makes an attempt, which may fail, and returns after it. A repeat with the same
	// idempotency key makes no further one.
	Resend(ctx context.Context, account domain.AccountID, id string, q deliveries.ResendRequest) (deliveries.Detail, error)
	// StartReplay counts the deliveries. It starts the replay unless dry is set. With an
	// idempotency key, a repeat returns the first replay.
	StartReplay(ctx context.Context, q deliveries.ReplayRequest, dry bool) (deliveries.Replay, error)
	Replay(ctx context.Context, account domain.AccountID, id string) (deliveries.Replay, error)
}

type deliveryAnswer struct {
	ID          string            `json:"id"`
	EndpointID  domain.EndpointID `json:"endpointId"`
	EventType   string            `json:"eventType"`
	EventID     string            `json:"eventId"`
	PaymentID   string            `json:"paymentId,omitempty"`
	DisputeID   string            `json:"disputeId,omitempty"`
	Outcome     string            `json:"outcome"`
	PlannedAt   paymentjson.Time  `json:"plannedAt"`
	UpdatedAt   paymentjson.Time  `json:"updatedAt"`
	NextAt      *paymentjson.Time `json:"nextAttemptAt,omitempty"`
	Attempts    int               `json:"attemptCount"`
	LastStatus  int               `json:"lastStatusCode,omitempty"`
	LastFailure string            `json:"lastFailure,omitempty"`
	Dropped     bool              `json:"dropped,omitempty"`
}

type deliveryDetail struct {
	deliveryAnswer
	Tried []history.WebhookAttempt `json:"attempts"`
	Body  json.RawMessage          `json:"body,omitempty"` // only where one delivery is read
}

// ListDeliveries serves GET /management/webhook-deliveries.
func (h *Handlers) ListDeliveries(c *request.Call) (any, error) {
	filter := deliveryFilter(c.Query)
	cursors := c.Cursors("deliveries", filter)
	found, err := h.Deliveries.List(c.Ctx, c.Merchant.ID, filter, c.From, request.Limit(c.Query))
	return request.List[deliveryAnswer]{Data: request.Map(found.Data, renderDelivery), NextCursor: cursors.Text(found.Next)}, err
}

// ListRecords serves GET /webhook-deliveries.
func (h *Handlers) ListRecords(c *request.Call) (any, error) {
	after, limit := uint64(request.Integer(c.Query, "after", 0)), request.Limit(c.Query)
	return request.Listing(func(element func(any) error) (uint64, error) {
		return h.Deliveries.Records(c.Ctx, c.Merchant.ID, after, limit, func(d deliveries.Recorded) error { return element(d) })
	}), nil
}

// GetDelivery serves GET /management/webhook-deliveries/{id}.
func (h *Handlers) GetDelivery(c *request.Call) (any, error) {
	d, err := h.Deliveries.Delivery(c.Ctx, c.Merchant.ID, c.Vars["id"])
	return renderAttempts(d), err
}

// ResendDelivery serves POST /management/webhook-deliveries/{id}/resend. An idempotency key makes a
// repeat harmless.
func (h *Handlers) ResendDelivery(c *request.Call) (any, error) {
	key, err := request.IdempotencyKey(c.Header)
	if err != nil {
		return nil, err
	}
	d, err := h.Deliveries.Resend(c.Ctx, c.Merchant.ID, c.Vars["id"], deliveries.ResendRequest{
		Key: key,
		Record: func(ctx context.Context, row deliveries.Row) error {
			requested := webhook.ResendRequested{Delivery: row.ID, Endpoint: row.Endpoint, EventType: row.EventType}
			if row.Aggregate == "payment" {
				requested.Payment = domain.PaymentID(row.AggregateID)
			}
			return h.Commands.RecordResend(ctx, c.Caller(), requested, key)
		},
	})
	return renderAttempts(d), err
}

func renderDelivery(d deliveries.Row) deliveryAnswer {
	a := deliveryAnswer{
		ID: d.ID, EndpointID: d.Endpoint, EventType: d.EventType, EventID: d.EventID, Outcome: d.Status,
		PlannedAt: paymentjson.Time{Time: d.PlannedAt}, UpdatedAt: paymentjson.Time{Time: d.UpdatedAt},
		Attempts: d.Attempts, LastStatus: d.StatusCode, LastFailure: d.Failure, Dropped: d.Dropped,
	}
	switch d.Aggregate {
	case "payment":
		a.PaymentID = d.AggregateID
	case "dispute":
		a.DisputeID = d.AggregateID
	}
	if !d.NextAt.IsZero() {
		a.NextAt = &paymentjson.Time{Time: d.NextAt}
	}
	return a
}

func renderAttempts(d deliveries.Detail) deliveryDetail {
	return deliveryDetail{renderDelivery(d.Row), request.Map(d.Tried, history.RenderAttempt), d.Body}
}

func deliveryFilter(query url.Values) deliveries.Filter {
	several := func(name string) []string { return request.Several(query, name) }
	return deliveries.Filter{
		Statuses: several("outcome"), EventTypes: several("eventType"),
		Endpoint: domain.EndpointID(query.Get("endpointId")), Payment: domain.PaymentID(query.Get("paymentId")),
		From: request.Read(query, "from", validation.ParseTime), To: request.Read(query, "to", validation.ParseTime),
		EverFailed: query.Get("everFailed") == "true",
	}
}

func deliveryRules(v *validation.Violations, c *request.Call) {
	filter := deliveryFilter(c.Query)
	v.Range(filter.From, filter.To)
	c.Cursors("deliveries", filter).Check(v, c)
}

// Handlers serves the calls.
type Handlers struct {
	Commands   Commands
	Deliveries Deliveries
}

// Commands record who requests to send webhooks again (D20: the audit log).
type Commands interface {
	// RecordResend records nothing if a request for the delivery with the idempotency key ("" for
	// none) is recorded.
	RecordResend(ctx context.Context, by commands.Caller, e webhook.ResendRequested, key string) error
	RecordReplay(ctx context.Context, by commands.Caller, e webhook.ReplayRequested) error
}

// Rules returns, by operation, the rules of requests that openapi.yaml cannot express.
func (h *Handlers) Rules() map[string]request.Rule {
	return map[string]request.Rule{"createWebhookReplay": request.PeriodRule, "listWebhookDeliveries": deliveryRules}
}
