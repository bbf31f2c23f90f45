package management

import (
	"errors"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands/accounts"
	"payledger/httpapi/request"
	"payledger/projections/listing"
	"payledger/projections/paymentjson"
)

type endpointAnswer struct {
	ID          domain.EndpointID `json:"id"`
	URL         string            `json:"url"`
	Description string            `json:"description"`
	EventTypes  []string          `json:"eventTypes"`
	Enabled     bool              `json:"enabled"`
	CreatedAt   paymentjson.Time  `json:"createdAt"`
}

// ListEndpoints serves GET /management/webhook-endpoints.
func (h *Handlers) ListEndpoints(c *request.Call) (any, error) {
	return request.Page(c, "webhook-endpoints", request.Map(c.Merchant.Endpoints, renderEndpoint), func(e endpointAnswer) listing.Place {
		return listing.Place{At: e.CreatedAt.Time, ID: string(e.ID)}
	})
}

// CreateEndpoint serves POST /management/webhook-endpoints.
func (h *Handlers) CreateEndpoint(c *request.Call, body accounts.EndpointInput) (any, error) {
	if err := h.checkURL(c, body.URL); err != nil {
		return nil, err
	}
	made, err := h.Commands.CreateEndpoint(c.Ctx, c.Caller(), body)
	return h.shown(c, renderEndpoint(made), err)
}

// ChangeEndpoint serves PATCH /management/webhook-endpoints/{id}.
func (h *Handlers) ChangeEndpoint(c *request.Call, body account.ChangeEndpoint) (any, error) {
	if body.URL != nil {
		if err := h.checkURL(c, *body.URL); err != nil {
			return nil, err
		}
	}
	changed, err := h.Commands.ChangeEndpoint(c.Ctx, c.Caller(), endpointID(c), body)
	return h.shown(c, renderEndpoint(changed), err)
}

// DeleteEndpoint serves DELETE /management/webhook-endpoints/{id}.
func (h *Handlers) DeleteEndpoint(c *request.Call) (any, error) {
	deleted, err := h.Commands.DeleteEndpoint(c.Ctx, c.Caller(), endpointID(c))
	return h.shown(c, renderEndpoint(deleted), err)
}

type endpointTestAnswer struct {
	StartedAt  paymentjson.Time `json:"startedAt"`
	DurationMs int64            `json:"durationMs"`
	StatusCode int              `json:"statusCode,omitempty"`
	Failure    string           `json:"failure,omitempty"`
	Succeeded  bool             `json:"succeeded"`
	Excerpt    string           `json:"excerpt"`
}

// TestEndpoint serves POST /management/webhook-endpoints/{id}/test. A receiver's failure is an
// answer, not an error of the call.
func (h *Handlers) TestEndpoint(c *request.Call) (any, error) {
	if _, known := c.Merchant.Endpoint(endpointID(c)); !known {
		return nil, account.NoEndpoint()
	}
	done, err := h.SendTest(c.Ctx, c.Merchant.ID, endpointID(c))
	if err != nil {
		return nil, err
	}
	return endpointTestAnswer{
		StartedAt: paymentjson.Time{Time: done.StartedAt}, DurationMs: done.Duration.Milliseconds(),
		StatusCode: done.StatusCode, Failure: done.Failure, Succeeded: done.Failure == "", Excerpt: done.Excerpt,
	}, nil
}

func endpointID(c *request.Call) domain.EndpointID { return domain.EndpointID(c.Vars["id"]) }

// checkURL refuses addresses that webhooks must not go to; each connection checks the address again
// (D18).
func (h *Handlers) checkURL(c *request.Call, url string) error {
	err := h.CheckURL(c.Ctx, url)
	if err == nil {
		return nil
	}
	text := err.Error()
	var reason interface{ Loopback() bool }
	if h.Sandbox && errors.As(err, &reason) && reason.Loopback() {
		text += ownMachine
	}
	return domain.Invalid(c.Model, domain.Violation{Path: "$.url", Description: text})
}

// ownMachine tells a developer, whose program is on the developer's own machine, the two ways to
// it.
const ownMachine = "; for a program on your own machine run `payledger listen`, or start a service on that machine with --webhook-allow-cidr 127.0.0.0/8"

func renderEndpoint(e account.Endpoint) endpointAnswer {
	return endpointAnswer{
		ID: e.ID, URL: e.URL, Description: e.Description, EventTypes: append([]string{}, e.EventTypes...),
		Enabled: e.Enabled, CreatedAt: paymentjson.Time{Time: e.CreatedAt},
	}
}
