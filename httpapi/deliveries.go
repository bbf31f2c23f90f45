package httpapi

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"payledger/domain"
	"payledger/projections"
	"payledger/projections/deliveries"
	"payledger/projections/paymentjson"
)

// Deliveries is the attempt log of webhooks (D18, D20). Unknown ids, and those of other accounts, are EntityNotFound.
type Deliveries interface {
	// List reads a page, newest first, at most limit, from a place on; nil is the newest end.
	List(ctx context.Context, account domain.AccountID, f deliveries.Filter, from *deliveries.Place, limit int) (deliveries.Page, error)
	Delivery(ctx context.Context, account domain.AccountID, id string) (deliveries.Detail, error)
	// Resend makes an attempt and answers when it is over; a receiver that fails is no error.
	Resend(ctx context.Context, account domain.AccountID, id string) (deliveries.Detail, error)
	// StartReplay counts, and unless it is dry, starts.
	StartReplay(ctx context.Context, q deliveries.ReplayRequest, dry bool) (deliveries.Replay, error)
	Replay(ctx context.Context, account domain.AccountID, id string) (deliveries.Replay, error)
}

// deliveryAnswer is a webhook delivery as the list shows it.
type deliveryAnswer struct {
	ID          string            `json:"id"`
	EndpointID  domain.EndpointID `json:"endpointId"`
	EventType   string            `json:"eventType"`
	EventID     string            `json:"eventId"`
	PaymentID   string            `json:"paymentId,omitempty"`
	Outcome     string            `json:"outcome"`
	PlannedAt   paymentjson.Time  `json:"plannedAt"`
	UpdatedAt   paymentjson.Time  `json:"updatedAt"`
	NextAt      *paymentjson.Time `json:"nextAttemptAt,omitempty"`
	Attempts    int               `json:"attemptCount"`
	LastStatus  int               `json:"lastStatusCode,omitempty"`
	LastFailure string            `json:"lastFailure,omitempty"`
	Dropped     bool              `json:"dropped,omitempty"`
}

// attemptAnswer is one try to send.
type attemptAnswer struct {
	Number     int              `json:"number"`
	StartedAt  paymentjson.Time `json:"startedAt"`
	DurationMs int64            `json:"durationMs"`
	StatusCode int              `json:"statusCode,omitempty"`
	Failure    string           `json:"failure,omitempty"`
	Manual     bool             `json:"manual"`
	Excerpt    string           `json:"excerpt"`
	Keys       []string         `json:"keys"`
}

// deliveryDetail is a delivery with its attempts, oldest first.
type deliveryDetail struct {
	deliveryAnswer
	Tried []attemptAnswer `json:"attempts"`
}

// listDeliveries: GET /management/webhook-deliveries.
func listDeliveries(c *call) (any, error) {
	query := c.r.URL.Query()
	filter := deliveryFilter(query)
	cursors := c.deliveryCursors(filter)
	from, err := cursors.place(query.Get("cursor"))
	if err != nil {
		return nil, err // deliveryRules have seen it
	}
	found, err := c.api.Deliveries.List(c.ctx, c.merchant.ID, filter, deliveryPlace(from), limit(query))
	if err != nil {
		return nil, err
	}
	answer := list[deliveryAnswer]{Data: make([]deliveryAnswer, len(found.Data))}
	for i, d := range found.Data {
		answer.Data[i] = renderDelivery(d)
	}
	if next := found.Next; next != nil {
		answer.NextCursor = cursors.text(&projections.Place{At: next.At, ID: domain.PaymentID(next.ID)})
	}
	return answer, nil
}

// getDelivery: GET /management/webhook-deliveries/{id}.
func getDelivery(c *call) (any, error) {
	d, err := c.api.Deliveries.Delivery(c.ctx, c.merchant.ID, c.vars["id"])
	if err != nil {
		return nil, err
	}
	return renderAttempts(d), nil
}

// resendDelivery: POST /management/webhook-deliveries/{id}/resend.
func resendDelivery(c *call) (any, error) {
	d, err := c.api.Deliveries.Resend(c.ctx, c.merchant.ID, c.vars["id"])
	if err != nil {
		return nil, err
	}
	return renderAttempts(d), nil
}

func renderDelivery(d deliveries.Row) deliveryAnswer {
	a := deliveryAnswer{
		ID: d.ID, EndpointID: d.Endpoint, EventType: d.EventType, EventID: d.EventID, Outcome: d.Status,
		PlannedAt: paymentjson.Time{Time: d.PlannedAt}, UpdatedAt: paymentjson.Time{Time: d.UpdatedAt},
		Attempts: d.Attempts, LastStatus: d.StatusCode, LastFailure: d.Failure, Dropped: d.Dropped,
	}
	if d.Aggregate == "payment" {
		a.PaymentID = d.AggregateID
	}
	if !d.NextAt.IsZero() {
		a.NextAt = &paymentjson.Time{Time: d.NextAt}
	}
	return a
}

func renderAttempts(d deliveries.Detail) deliveryDetail {
	a := deliveryDetail{deliveryAnswer: renderDelivery(d.Row), Tried: make([]attemptAnswer, len(d.Tried))}
	for i, t := range d.Tried {
		a.Tried[i] = attemptAnswer{
			Number: t.Number, StartedAt: paymentjson.Time{Time: t.StartedAt}, DurationMs: t.Duration.Milliseconds(),
			StatusCode: t.StatusCode, Failure: t.Failure, Manual: t.Manual, Excerpt: t.Excerpt, Keys: append([]string{}, t.Keys...),
		}
	}
	return a
}

// deliveryFilter reads the filters of the list, as far as they are valid.
func deliveryFilter(query url.Values) deliveries.Filter {
	several := func(name string) []string { // in any order they say the same
		return slices.Compact(slices.Sorted(slices.Values(separate(query[name]))))
	}
	return deliveries.Filter{
		Statuses: several("outcome"), EventTypes: several("eventType"),
		Endpoint: domain.EndpointID(query.Get("endpointId")), Payment: domain.PaymentID(query.Get("paymentId")),
		From: read(query, "from", parseTime), To: read(query, "to", parseTime),
	}
}

// deliveryCursors are those of the caller's deliveries under a filter, and of no other list.
func (c *call) deliveryCursors(f deliveries.Filter) cursors {
	list, err := json.Marshal([]any{"deliveries", c.merchant.ID, f})
	if err != nil {
		panic(err) // strings and dates within RFC 3339
	}
	return cursors{key: c.api.ClientTokenKey, list: list}
}

// deliveryPlace is where a cursor leads; a delivery's id stands in it as a payment's does.
func deliveryPlace(p *projections.Place) *deliveries.Place {
	if p == nil {
		return nil
	}
	return &deliveries.Place{At: p.At, ID: string(p.ID)}
}

// deliveryRules: what the parameters of the list are to one another.
func deliveryRules(v *violations, query url.Values, c *call) {
	filter := deliveryFilter(query)
	if filter.From != nil && filter.To != nil {
		v.ofRange(*filter.From, *filter.To)
	}
	if _, err := c.deliveryCursors(filter).place(query.Get("cursor")); err != nil {
		v.add("$.cursor", "is not a cursor of this list")
	}
}

func (v *violations) ofRange(from, to time.Time) {
	if from.After(to) {
		v.add("$.from", "must not be after to")
	}
}
