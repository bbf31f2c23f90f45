package httpapi

import (
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands"
	"payledger/projections/paymentjson"
)

// endpointRequest is the body of POST /management/webhook-endpoints (D20).
type endpointRequest struct {
	URL         string   `json:"url"`
	Description string   `json:"description"`
	EventTypes  []string `json:"eventTypes"`
}

// endpointChange is the body of PATCH /management/webhook-endpoints/{id} (D20).
type endpointChange struct {
	URL         *string   `json:"url"`
	Description *string   `json:"description"`
	EventTypes  *[]string `json:"eventTypes"`
	Enabled     *bool     `json:"enabled"`
}

// endpointAnswer is a webhook endpoint.
type endpointAnswer struct {
	ID          domain.EndpointID `json:"id"`
	URL         string            `json:"url"`
	Description string            `json:"description"`
	EventTypes  []string          `json:"eventTypes"`
	Enabled     bool              `json:"enabled"`
	CreatedAt   paymentjson.Time  `json:"createdAt"`
}

// listEndpoints: GET /management/webhook-endpoints.
func listEndpoints(c *call) (any, error) {
	endpoints := make([]endpointAnswer, len(c.merchant.Endpoints))
	for i, e := range c.merchant.Endpoints {
		endpoints[i] = renderEndpoint(e)
	}
	return page(c, endpoints, func(e endpointAnswer) string { return string(e.ID) })
}

// createEndpoint: POST /management/webhook-endpoints.
func createEndpoint(c *call) (any, error) {
	body, err := decode[endpointRequest](c)
	if err != nil {
		return nil, err
	}
	if err := c.checkURL(body.URL); err != nil {
		return nil, err
	}
	made, err := c.api.Commands.CreateEndpoint(c.ctx, c.caller(), commands.EndpointInput(body))
	if err != nil {
		return nil, err
	}
	c.show()
	return renderEndpoint(made), nil
}

// changeEndpoint: PATCH /management/webhook-endpoints/{id}.
func changeEndpoint(c *call) (any, error) {
	body, err := decode[endpointChange](c)
	if err != nil {
		return nil, err
	}
	if body.URL != nil {
		if err := c.checkURL(*body.URL); err != nil {
			return nil, err
		}
	}
	changed, err := c.api.Commands.ChangeEndpoint(c.ctx, c.caller(), c.endpointID(), commands.EndpointChange(body))
	if err != nil {
		return nil, err
	}
	c.show()
	return renderEndpoint(changed), nil
}

// deleteEndpoint: DELETE /management/webhook-endpoints/{id}.
func deleteEndpoint(c *call) (any, error) {
	deleted, err := c.api.Commands.DeleteEndpoint(c.ctx, c.caller(), c.endpointID())
	if err != nil {
		return nil, err
	}
	c.show()
	return renderEndpoint(deleted), nil
}

// EndpointTest is how sending the test message ended (D20).
type EndpointTest struct {
	StartedAt  time.Time
	Duration   time.Duration
	StatusCode int    // 0: no answer came
	Failure    string // the class of the failure; "" is success
}

// endpointTestAnswer is an EndpointTest as it is answered.
type endpointTestAnswer struct {
	StartedAt  paymentjson.Time `json:"startedAt"`
	DurationMs int64            `json:"durationMs"`
	StatusCode int              `json:"statusCode,omitempty"`
	Failure    string           `json:"failure,omitempty"`
	Succeeded  bool             `json:"succeeded"`
}

// testEndpoint: POST /management/webhook-endpoints/{id}/test. What a receiver does wrong is an answer, not a failure of the call.
func testEndpoint(c *call) (any, error) {
	if _, known := c.merchant.Endpoint(c.endpointID()); !known {
		return nil, account.NoEndpoint()
	}
	done, err := c.api.TestEndpoint(c.ctx, c.merchant.ID, c.endpointID())
	if err != nil {
		return nil, err
	}
	return endpointTestAnswer{
		StartedAt: paymentjson.Time{Time: done.StartedAt}, DurationMs: done.Duration.Milliseconds(),
		StatusCode: done.StatusCode, Failure: done.Failure, Succeeded: done.Failure == "",
	}, nil
}

// endpointID is the endpoint that the path names.
func (c *call) endpointID() domain.EndpointID { return domain.EndpointID(c.vars["id"]) }

// checkURL refuses an address that webhooks must not go to; every connect checks it again (D18).
func (c *call) checkURL(url string) error {
	if err := c.api.CheckURL(c.ctx, url); err != nil {
		return domain.Invalid(c.operation.model, domain.Violation{Path: "$.url", Description: err.Error()})
	}
	return nil
}

func renderEndpoint(e account.Endpoint) endpointAnswer {
	return endpointAnswer{
		ID: e.ID, URL: e.URL, Description: e.Description, EventTypes: append([]string{}, e.EventTypes...),
		Enabled: e.Enabled, CreatedAt: paymentjson.Time{Time: e.CreatedAt},
	}
}
