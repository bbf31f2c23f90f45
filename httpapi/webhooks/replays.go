package webhooks

import (
	"context"

	"payledger/domain"
	"payledger/domain/webhook"
	"payledger/httpapi/request"
	"payledger/projections/deliveries"
	"payledger/projections/paymentjson"
)

type replayRequest struct {
	EndpointID domain.EndpointID `json:"endpointId"`
	From       request.Date      `json:"from"`
	To         request.Date      `json:"to"`
	EventTypes []string          `json:"eventTypes"`
	OnlyFailed bool              `json:"onlyFailed"`
	DryRun     bool              `json:"dryRun"`
}

type replayStarted struct {
	ID    string `json:"id,omitempty"`
	Count int    `json:"count"`
}

type replayAnswer struct {
	ID         string                 `json:"id"`
	EndpointID domain.EndpointID      `json:"endpointId"`
	From       paymentjson.Time       `json:"from"`
	To         paymentjson.Time       `json:"to"`
	EventTypes []string               `json:"eventTypes"`
	OnlyFailed bool                   `json:"onlyFailed"`
	CreatedAt  paymentjson.Time       `json:"createdAt"`
	State      deliveries.ReplayState `json:"state"`
	Count      int                    `json:"count"`
	Done       int                    `json:"done"`
	Failure    string                 `json:"failure,omitempty"`
}

// CreateReplay serves POST /management/webhook-replays. An idempotency key makes a repeat answer
// the first replay.
func (h *Handlers) CreateReplay(c *request.Call, body replayRequest) (any, error) {
	key, err := request.IdempotencyKey(c.Header)
	if err != nil {
		return nil, err
	}
	made, err := h.Deliveries.StartReplay(c.Ctx, deliveries.ReplayRequest{
		Account: c.Merchant.ID, Endpoint: body.EndpointID, From: body.From.Time, To: body.To.Time, EventTypes: body.EventTypes,
		OnlyFailed: body.OnlyFailed, Key: key,
		Record: func(ctx context.Context, r deliveries.Replay) error {
			return h.Commands.RecordReplay(ctx, c.Caller(), webhook.ReplayRequested{
				Replay: r.ID, Endpoint: r.Endpoint, Since: r.From, Until: r.To, EventTypes: r.EventTypes, OnlyFailed: r.OnlyFailed, Count: int64(r.Count),
			})
		},
	}, body.DryRun)
	return replayStarted{ID: made.ID, Count: made.Count}, err
}

// GetReplay serves GET /management/webhook-replays/{id}.
func (h *Handlers) GetReplay(c *request.Call) (any, error) {
	r, err := h.Deliveries.Replay(c.Ctx, c.Merchant.ID, c.Vars["id"])
	return replayAnswer{
		ID: r.ID, EndpointID: r.Endpoint, From: paymentjson.Time{Time: r.From}, To: paymentjson.Time{Time: r.To},
		EventTypes: r.EventTypes, OnlyFailed: r.OnlyFailed, CreatedAt: paymentjson.Time{Time: r.CreatedAt},
		State: r.State, Count: r.Count, Done: r.Done, Failure: r.Failure,
	}, err
}
