package httpapi

import (
	"time"

	"payledger/domain"
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

// createReplay: POST /management/webhook-replays.
func createReplay(c *call) (any, error) {
	body, err := decode[replayRequest](c)
	if err != nil {
		return nil, err
	}
	q := deliveries.ReplayRequest{
		Account: c.merchant.ID, Endpoint: body.EndpointID, EventTypes: body.EventTypes, OnlyFailed: body.OnlyFailed,
	}
	if q.From, err = parseTime(body.From); err != nil {
		return nil, err // replayRules have seen them
	}
	if q.To, err = parseTime(body.To); err != nil {
		return nil, err
	}
	made, err := c.api.Deliveries.StartReplay(c.ctx, q, body.DryRun)
	if err != nil {
		return nil, err
	}
	return replayStarted{ID: made.ID, Count: made.Count}, nil
}

// getReplay: GET /management/webhook-replays/{id}.
func getReplay(c *call) (any, error) {
	r, err := c.api.Deliveries.Replay(c.ctx, c.merchant.ID, c.vars["id"])
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
func replayRules(v *violations, tree map[string]any, _ *call) {
	from, hasFrom := v.ofDate(tree, "from")
	to, hasTo := v.ofDate(tree, "to")
	if hasFrom && hasTo {
		v.ofRange(from, to)
	}
}

// ofDate reads a field that is a date; what the schema finds wrong is not looked at again.
func (v *violations) ofDate(tree map[string]any, field string) (time.Time, bool) {
	text, is := tree[field].(string)
	if !is {
		return time.Time{}, false
	}
	at, err := parseTime(text)
	if err != nil {
		v.add("$."+field, "must be an RFC 3339 date")
	}
	return at, err == nil
}
