package account

import (
	"slices"
	"time"

	"payledger/domain"
)

// Endpoint is a receiver of webhooks (D18).
type Endpoint struct {
	ID          domain.EndpointID `json:"id"`          // names the endpoint
	URL         string            `json:"url"`         // the address that receives webhooks
	Description string            `json:"description"` // the merchant's own text
	EventTypes  []string          `json:"eventTypes"`  // empty: all
	Enabled     bool              `json:"enabled"`     // reports whether new webhooks go to it
	CreatedAt   time.Time         `json:"createdAt"`   // UTC
}

// Wants reports whether the endpoint receives webhooks of the kind.
func (e Endpoint) Wants(eventType string) bool {
	return e.Enabled && (len(e.EventTypes) == 0 || slices.Contains(e.EventTypes, eventType))
}

// ListenerURL is the URL of an endpoint whose webhooks a program reads as a stream, instead of
// being called (D18, D20).
const ListenerURL = "listener:stream"

// Listener reports whether the endpoint's webhooks are read as a stream.
func (e Endpoint) Listener() bool { return e.URL == ListenerURL }

// Listeners counts the account's endpoints whose webhooks are read as a stream.
func (s State) Listeners() (n int) {
	for _, e := range s.Endpoints {
		if e.Listener() {
			n++
		}
	}
	return n
}

// Endpoint returns a webhook endpoint by its id; false if there is none, or if it was deleted.
func (s State) Endpoint(id domain.EndpointID) (Endpoint, bool) {
	return at(s.Endpoints, s.endpointAt(id))
}

func (s State) endpointAt(id domain.EndpointID) int {
	return slices.IndexFunc(s.Endpoints, func(e Endpoint) bool { return e.ID == id })
}

// EndpointCreated says that the account has a further endpoint.
type EndpointCreated struct {
	At       time.Time `json:"at"`       // when it was decided, UTC
	Endpoint Endpoint  `json:"endpoint"` // the new endpoint
	// Per shard, the address of an event of the log; the change applies to the later events of the
	// shard.
	EndpointsAfter []uint64 `json:"endpointsAfter,omitempty"`
}

// EndpointChanged says that an endpoint has new data. It keeps its id; queued webhooks go to the
// new address.
type EndpointChanged struct {
	At          time.Time         `json:"at"`          // when it was decided, UTC
	ID          domain.EndpointID `json:"id"`          // the changed endpoint
	URL         string            `json:"url"`         // the address that receives webhooks
	Description string            `json:"description"` // the merchant's own text
	EventTypes  []string          `json:"eventTypes"`  // empty: all
	Enabled     bool              `json:"enabled"`     // reports whether new webhooks go to it
	// Per shard, the address of an event of the log; the change applies to the later events of the
	// shard.
	EndpointsAfter []uint64 `json:"endpointsAfter,omitempty"`
}

// EndpointDeleted says that an endpoint was deleted; deliveries keep its id.
type EndpointDeleted struct {
	At time.Time         `json:"at"` // when it was decided, UTC
	ID domain.EndpointID `json:"id"` // the deleted endpoint
	// Per shard, the address of an event of the log; the change applies to the later events of the
	// shard.
	EndpointsAfter []uint64 `json:"endpointsAfter,omitempty"`
}

func (EndpointCreated) Type() string { return "account.endpoint_created" }
func (EndpointChanged) Type() string { return "account.endpoint_changed" }
func (EndpointDeleted) Type() string { return "account.endpoint_deleted" }

func (EndpointCreated) accountEvent() {}
func (EndpointChanged) accountEvent() {}
func (EndpointDeleted) accountEvent() {}

// CreateEndpoint is the command to add an endpoint.
type CreateEndpoint EndpointCreated

// DecideCreateEndpoint adds the endpoint.
func DecideCreateEndpoint(s State, c CreateEndpoint) (Event, error) {
	if len(s.Endpoints) >= MaxEndpoints {
		return nil, domain.InvalidAt("WebhookEndpointRequest", "$", "the account has the maximum number of endpoints; delete one")
	}
	if c.Endpoint.Listener() && s.Listeners() >= MaxListeners {
		return nil, domain.InvalidAt("WebhookListenerRequest", "$", "the account has the maximum number of listeners; end one")
	}
	c.EndpointsAfter = later(s.EndpointsAfter, c.EndpointsAfter)
	return EndpointCreated(c), nil
}

// ChangeEndpoint is the command to change an endpoint; nil fields stay as they are.
type ChangeEndpoint struct {
	At          time.Time         `json:"-"`
	ID          domain.EndpointID `json:"-"`
	URL         *string           `json:"url"`
	Description *string           `json:"description"`
	EventTypes  *[]string         `json:"eventTypes"` // empty: all
	Enabled     *bool             `json:"enabled"`
	// EndpointsAfter has the ends of the shards, read before the command.
	EndpointsAfter []uint64 `json:"-"`
}

// DecideChangeEndpoint changes the endpoint; the event is nil if nothing differs.
func DecideChangeEndpoint(s State, c ChangeEndpoint) (Event, error) {
	before, known := s.Endpoint(c.ID)
	if !known {
		return nil, NoEndpoint()
	}
	if c.URL != nil && before.Listener() != (*c.URL == ListenerURL) {
		return nil, domain.InvalidAt("WebhookEndpointChange", "$.url", "cannot be changed: a listener has no address; create an endpoint")
	}
	next := EndpointChanged{
		At: c.At, ID: c.ID, URL: valueOr(c.URL, before.URL), Description: valueOr(c.Description, before.Description),
		EventTypes: valueOr(c.EventTypes, before.EventTypes), Enabled: valueOr(c.Enabled, before.Enabled),
		EndpointsAfter: later(s.EndpointsAfter, c.EndpointsAfter),
	}
	if next.URL == before.URL && next.Description == before.Description && next.Enabled == before.Enabled &&
		slices.Equal(next.EventTypes, before.EventTypes) {
		return nil, nil
	}
	return next, nil
}

// DeleteEndpoint is the command to delete an endpoint.
type DeleteEndpoint EndpointDeleted

// DecideDeleteEndpoint deletes the endpoint; a repeat is an error.
func DecideDeleteEndpoint(s State, c DeleteEndpoint) (Event, error) {
	if s.endpointAt(c.ID) < 0 {
		return nil, NoEndpoint()
	}
	c.EndpointsAfter = later(s.EndpointsAfter, c.EndpointsAfter)
	return EndpointDeleted(c), nil
}

// later returns the later address of each shard, so that a newer change never applies to events
// before an older one. A concurrent change may have read the ends of the shards later and been
// appended first.
func later(before, now []uint64) []uint64 {
	now = slices.Clone(now)
	for shard := range min(len(now), len(before)) {
		now[shard] = max(now[shard], before[shard])
	}
	return now
}

// EndpointsApplyTo reports whether the endpoints of the state are those of an event: the event was
// appended after their newest change. Without a recorded place of the change (an older build) they
// are.
func (s State) EndpointsApplyTo(shard int, address uint64) bool {
	return shard >= len(s.EndpointsAfter) || address > s.EndpointsAfter[shard]
}

// NoEndpoint returns the error for an unknown endpoint id (D20).
func NoEndpoint() error {
	return domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "There is no webhook endpoint of this id.")
}

func evolveEndpoints(s State, e Event) State {
	var after []uint64
	switch e := e.(type) {
	case EndpointCreated:
		after = e.EndpointsAfter
		s.Endpoints, s.UpdatedAt = append(slices.Clone(s.Endpoints), e.Endpoint), e.At
	case EndpointChanged:
		after = e.EndpointsAfter
		s.Endpoints, s.UpdatedAt = slices.Clone(s.Endpoints), e.At
		if i := s.endpointAt(e.ID); i >= 0 {
			changed := &s.Endpoints[i]
			changed.URL, changed.Description, changed.EventTypes, changed.Enabled = e.URL, e.Description, e.EventTypes, e.Enabled
		}
	case EndpointDeleted:
		after = e.EndpointsAfter
		s.UpdatedAt = e.At
		s.Endpoints = slices.DeleteFunc(slices.Clone(s.Endpoints), func(o Endpoint) bool { return o.ID == e.ID })
	}
	if len(after) > 0 {
		s.EndpointsAfter = after
	}
	return s
}
