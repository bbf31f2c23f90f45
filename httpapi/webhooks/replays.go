package webhooks

import (
	"payledger/domain"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections/deliveries"
	"payledger/projections/paymentjson"
)

// replayRequest is the body of POST /management/webhook-replays (D20).
type replayRequest struct {
	EndpointID domain.EndpointID `json:"endpointId"`
	From       string            `json:"from"`
	To         string            `json:"to"`
	EventTypes []string          `json:"eventTypes"`
	OnlyFailed bool              `json:"onlyFailed"`
	DryRun     bool              `json:"dryRun"`
}

// replayStarted answers that a replay was started, or what it would send: then it has no id.
type replayStarted struct {
	ID    string `json:"id,omitempty"`
	Count int    `json:"count"`
}

// replayAnswer is a replay as it stands.
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

// CreateReplay serves POST /management/webhook-replays.
func (h *Handlers) CreateReplay(c *request.Call) (any, error) {
	body, err := request.Decode[replayRequest](c)
	if err != nil {
		return nil, err
	}
	q := deliveries.ReplayRequest{
		Account: c.Merchant.ID, Endpoint: body.EndpointID, EventTypes: body.EventTypes, OnlyFailed: body.OnlyFailed,
	}
	if q.From, err = validation.ParseTime(body.From); err != nil {
		return nil, err // replayRules have seen them
	}
	if q.To, err = validation.ParseTime(body.To); err != nil {
		return nil, err
	}
	made, err := h.Deliveries.StartReplay(c.Ctx, q, body.DryRun)
	if err != nil {
		return nil, err
	}
	return replayStarted{ID: made.ID, Count: made.Count}, nil
}

// GetReplay serves GET /management/webhook-replays/{id}.
func (h *Handlers) GetReplay(c *request.Call) (any, error) {
	r, err := h.Deliveries.Replay(c.Ctx, c.Merchant.ID, c.Vars["id"])
	if err != nil {
		return nil, err
	}
	return replayAnswer{
		ID: r.ID, EndpointID: r.Endpoint, From: paymentjson.Time{Time: r.From}, To: paymentjson.Time{Time: r.To},
		EventTypes: r.EventTypes, OnlyFailed: r.OnlyFailed, CreatedAt: paymentjson.Time{Time: r.CreatedAt},
		State: r.State, Count: r.Count, Done: r.Done, Failure: r.Failure,
	}, nil
}

// replayRules: D1, D20.
func replayRules(v *validation.Violations, c *request.Call) {
	from, hasFrom := v.Date(c.Body.Tree, "from")
	to, hasTo := v.Date(c.Body.Tree, "to")
	if hasFrom && hasTo {
		v.Range(from, to)
	}
}
