package router

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

// Calls is how many operations of one processor are under way at once, and as many questions. A
// processor that answers in half a second takes a thousand operations a second with it.
const Calls = 512

// Connection is the way to one processor.
type Connection struct {
	adapter.Connection
	Secret    []byte // signs its notifications
	Simulated bool   // it is the simulator, as far as is known before its first declaration
}

// Config is what a Router needs.
type Config struct {
	Connections map[processor.Name]Connection
	// Timed gets the duration of each call (adapter.Adapter.Timed); nil: nobody does.
	Timed func(name processor.Name, call string, took time.Duration, unknown bool)
	Now   func() time.Time // nil: time.Now
}

// Router sends calls to the processors that have an address. It is safe for concurrent use.
type Router struct {
	names   []processor.Name
	ports   map[processor.Name]*adapter.Adapter
	secrets map[processor.Name][]byte
	health  map[processor.Name]*health
	now     func() time.Time
	control *adapter.Adapter
}

var (
	_ processor.Port     = (*Router)(nil)
	_ processor.Disputes = (*Router)(nil)
)

// Open returns a router. It makes no call.
func Open(c Config) (*Router, error) {
	r := &Router{ports: map[processor.Name]*adapter.Adapter{}, secrets: map[processor.Name][]byte{}, health: map[processor.Name]*health{}, now: c.Now}
	if r.now == nil {
		r.now = time.Now
	}
	for _, name := range processor.Names {
		connection, has := c.Connections[name]
		if !has {
			continue
		}
		if connection.Calls == 0 {
			connection.Calls = Calls
		}
		h := &health{simulated: connection.Simulated}
		connection.Exchanged = func(err error) { h.note(err, r.now()) }
		connection.Unfit = func(err error) { r.Unfit(name, err.Error()) }
		port, err := adapter.Open(connection.Connection)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		port.Timed = c.Timed
		r.names, r.ports[name], r.secrets[name], r.health[name] = append(r.names, name), port, connection.Secret, h
		if r.control == nil {
			connection.Exchanged, connection.Unfit = nil, nil
			if r.control, err = adapter.Open(connection.Connection); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return r, nil
}

// Close ends the idle connections.
func (r *Router) Close() {
	for _, port := range r.ports {
		port.Close()
	}
	if r.control != nil {
		r.control.Close()
	}
}

// Sign returns the signature of a processor's notification.
func (r *Router) Sign(name processor.Name, body []byte) string {
	return protocol.Sign(r.secrets[name], body)
}

// Names returns the processors that have an address, in routing order (D15).
func (r *Router) Names() []processor.Name { return slices.Clone(r.names) }

// Connected reports whether a processor has an address.
func (r *Router) Connected(name processor.Name) bool { return r.ports[name] != nil }

// Control returns an adapter for the control API of a simulator at the address of the first
// processor; nil if none has an address.
func (r *Router) Control() *adapter.Adapter { return r.control }

// at returns the adapter of a processor.
func (r *Router) at(name processor.Name) (*adapter.Adapter, error) {
	if port := r.ports[name]; port != nil {
		return port, nil
	}
	return nil, NoAddress(name)
}

// NoAddress is the error of each call of a processor without an address. It wraps
// processor.ErrUnknown: an earlier connection may have carried out the operation.
func NoAddress(name processor.Name) error {
	return fmt.Errorf("%w: %s has no address in this ledger (--processor %s=URL)", processor.ErrUnknown, name, name)
}

// Send implements processor.Port.
func (r *Router) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	port, err := r.at(op.Processor)
	if err != nil {
		return processor.Answer{}, err
	}
	return port.Send(ctx, op)
}

// Lookup implements processor.Port.
func (r *Router) Lookup(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	port, err := r.at(name)
	if err != nil {
		return processor.Lookup{}, err
	}
	return port.Lookup(ctx, name, key)
}

// Fence implements processor.Port.
func (r *Router) Fence(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	port, err := r.at(name)
	if err != nil {
		return processor.Lookup{}, err
	}
	return port.Fence(ctx, name, key)
}

// ByReference implements processor.Port.
func (r *Router) ByReference(ctx context.Context, name processor.Name, reference domain.PaymentID) ([]processor.Record, error) {
	port, err := r.at(name)
	if err != nil {
		return nil, err
	}
	return port.ByReference(ctx, name, reference)
}

// NotificationsSince implements processor.Disputes.
func (r *Router) NotificationsSince(ctx context.Context, name processor.Name, since time.Time, after string) (processor.DisputePage, error) {
	port, err := r.at(name)
	if err != nil {
		return processor.DisputePage{}, err
	}
	return port.NotificationsSince(ctx, name, since, after)
}

// Operations lists a processor's books (adapter.Adapter.Operations).
func (r *Router) Operations(ctx context.Context, name processor.Name, from, to time.Time, handle func(processor.Record) error) error {
	port, err := r.at(name)
	if err != nil {
		return err
	}
	return port.Operations(ctx, name, from, to, handle)
}

// DisputesOf lists a processor's disputes of a payment (adapter.Adapter.DisputesOf).
func (r *Router) DisputesOf(ctx context.Context, name processor.Name, reference domain.PaymentID) ([]processor.Notification, error) {
	port, err := r.at(name)
	if err != nil {
		return nil, err
	}
	return port.DisputesOf(ctx, name, reference)
}

// DisputesReported lists a processor's disputes (adapter.Adapter.DisputesReported).
func (r *Router) DisputesReported(ctx context.Context, name processor.Name, from, to time.Time, handle func(processor.Notification) error) error {
	port, err := r.at(name)
	if err != nil {
		return err
	}
	return port.DisputesReported(ctx, name, from, to, handle)
}

// ParseNotification reads a notification to the path of a processor (adapter.ParseNotification). A
// processor without an address has no secret: its notifications are refused, and it repeats them.
func (r *Router) ParseNotification(name processor.Name, header http.Header, body []byte) (processor.SignedNotification, error) {
	n, err := adapter.ParseNotification(r.secrets[name], name, header, body)
	if h := r.health[name]; h != nil && domain.ReasonOf(err) == domain.ReasonUnauthorized {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.unsigned.add("", r.now())
	}
	return n, err
}
