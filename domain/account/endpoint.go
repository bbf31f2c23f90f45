package account

import (
	"slices"
	"time"

	"payledger/domain"
)

// Endpoint is where webhooks go (D18).
type Endpoint struct {
	ID          domain.EndpointID `json:"id"`
	URL         string            `json:"url"`
	Description string            `json:"description"`
	EventTypes  []string          `json:"eventTypes"` // empty: all
	Enabled     bool              `json:"enabled"`
	CreatedAt   time.Time         `json:"createdAt"`
}

// Wants reports whether webhooks of the kind go to the endpoint.
func (e Endpoint) Wants(eventType string) bool {
	return e.Enabled && (len(e.EventTypes) == 0 || slices.Contains(e.EventTypes, eventType))
}

// Endpoint finds a webhook endpoint by its id; a deleted one is not there any more.
func (s State) Endpoint(id domain.EndpointID) (Endpoint, bool) {
	if i := s.endpointAt(id); i >= 0 {
		return s.Endpoints[i], true
	}
	return Endpoint{}, false
}

// endpointAt is where an endpoint stands among the account's; -1 for none.
func (s State) endpointAt(id domain.EndpointID) int {
	return slices.IndexFunc(s.Endpoints, func(e Endpoint) bool { return e.ID == id })
}

// EndpointCreated says that webhooks go to one more endpoint.
type EndpointCreated struct {
	At       time.Time `json:"at"`
	Endpoint Endpoint  `json:"endpoint"`
}

// EndpointChanged says what a webhook endpoint is from now on; it keeps its id, and webhooks that were queued
// for it go where it is now.
type EndpointChanged struct {
	At          time.Time         `json:"at"`
	ID          domain.EndpointID `json:"id"`
	URL         string            `json:"url"`
	Description string            `json:"description"`
	EventTypes  []string          `json:"eventTypes"` // empty: all
	Enabled     bool              `json:"enabled"`
}

// EndpointDeleted says that an endpoint is gone; deliveries keep its id.
type EndpointDeleted struct {
	At time.Time         `json:"at"`
	ID domain.EndpointID `json:"id"`
}

func (EndpointCreated) Type() string { return "account.endpoint_created" }
func (EndpointChanged) Type() string { return "account.endpoint_changed" }
func (EndpointDeleted) Type() string { return "account.endpoint_deleted" }

func (EndpointCreated) accountEvent() {}
func (EndpointChanged) accountEvent() {}
func (EndpointDeleted) accountEvent() {}

// CreateEndpoint asks for a further webhook endpoint.
type CreateEndpoint struct {
	At       time.Time
	Endpoint Endpoint
}

// DecideCreateEndpoint adds the endpoint.
func DecideCreateEndpoint(s State, c CreateEndpoint) (Event, error) {
	if len(s.Endpoints) >= MaxEndpoints {
		return nil, domain.Invalid("WebhookEndpointRequest", domain.Violation{Path: "$", Description: "the account has as many endpoints as it may"})
	}
	return EndpointCreated(c), nil
}

// ChangeEndpoint asks for another address, description or choice of webhooks; what is nil stays as it is.
type ChangeEndpoint struct {
	At          time.Time
	ID          domain.EndpointID
	URL         *string
	Description *string
	EventTypes  *[]string // empty: all
	Enabled     *bool
}

// DecideChangeEndpoint changes what differs.
func DecideChangeEndpoint(s State, c ChangeEndpoint) (Event, error) {
	before, known := s.Endpoint(c.ID)
	if !known {
		return nil, NoEndpoint()
	}
	next := EndpointChanged{
		At: c.At, ID: c.ID, URL: valueOr(c.URL, before.URL), Description: valueOr(c.Description, before.Description),
		EventTypes: valueOr(c.EventTypes, before.EventTypes), Enabled: valueOr(c.Enabled, before.Enabled),
	}
	if next.URL == before.URL && next.Description == before.Description && next.Enabled == before.Enabled &&
		slices.Equal(next.EventTypes, before.EventTypes) {
		return nil, nil
	}
	return next, nil
}

// DeleteEndpoint asks for an endpoint to be gone.
type DeleteEndpoint struct {
	At time.Time
	ID domain.EndpointID
}

// DecideDeleteEndpoint takes the endpoint away; a second time it is not there.
func DecideDeleteEndpoint(s State, c DeleteEndpoint) (Event, error) {
	if s.endpointAt(c.ID) < 0 {
		return nil, NoEndpoint()
	}
	return EndpointDeleted(c), nil
}

// NoEndpoint is the refusal of an id that no webhook endpoint has (D20).
func NoEndpoint() error {
	return domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "There is no webhook endpoint of this id.")
}

func evolveEndpoints(s State, e Event) State {
	switch e := e.(type) {
	case EndpointCreated:
		s.Endpoints, s.UpdatedAt = append(slices.Clone(s.Endpoints), e.Endpoint), e.At
	case EndpointChanged:
		s.Endpoints, s.UpdatedAt = slices.Clone(s.Endpoints), e.At
		if i := s.endpointAt(e.ID); i >= 0 {
			changed := &s.Endpoints[i]
			changed.URL, changed.Description, changed.EventTypes, changed.Enabled = e.URL, e.Description, e.EventTypes, e.Enabled
		}
	case EndpointDeleted:
		s.UpdatedAt = e.At
		s.Endpoints = slices.DeleteFunc(slices.Clone(s.Endpoints), func(o Endpoint) bool { return o.ID == e.ID })
	}
	return s
}
