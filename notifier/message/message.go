package message

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
	"payledger/notifier/delivery"
	"payledger/notifier/listener"
	"payledger/notifier/payload"
	"payledger/notifier/sender"
)

// The reasons why an endpoint takes no webhooks; test with errors.Is.
var (
	ErrNoEndpoint = errors.New("notifier: there is no such endpoint")
	ErrDisabled   = errors.New("notifier: the endpoint is disabled")
)

// The reasons why a message must be composed again (sender.Message.Fresh).
var (
	errChanged = errors.New("notifier: the endpoint or the signing secret changed")
	ErrErased  = errors.New("notifier: personal data may be erased")
)

// Views is the part of package projections that messages need.
type Views interface {
	// Shown returns when GET shows the event at seq of shard. aggregate is the name of its
	// aggregate.
	Shown(ctx context.Context, aggregate string, shard int, seq uint64) error
	Reach(ctx context.Context, position []uint64) error
	Account(id domain.AccountID) (account.State, bool)
}

const testText = "This is a test of your webhook endpoint."

// Writer composes messages.
type Writer struct {
	store   eventstore.Store
	secrets *secrets.Store
	views   Views
	now     func() time.Time
	keys    *keyring
	events  *eventCache
	ends    []uint64    // per shard: the last sequence when the process started
	caught  atomic.Bool // the views show the log up to ends
	// Listeners make the secrets of listeners; nil: there are none.
	Listeners *listener.Hub
}

// NewWriter returns a writer. It uses the views' accounts only after the views show the current
// last sequence of each shard.
func NewWriter(ctx context.Context, s eventstore.Store, v *secrets.Store, views Views, now func() time.Time) (*Writer, error) {
	w := &Writer{store: s, secrets: v, views: views, now: now, keys: newKeyring(v), events: newEventCache(s)}
	var err error
	w.ends, err = eventstore.Ends(ctx, s)
	return w, err
}

// Compose returns the message of a delivery. It waits until GET shows at least the state at the
// delivery's event (D17). Any error but ErrNoEndpoint and ErrDisabled is a problem of payledger's
// own, which may be temporary.
func (w *Writer) Compose(ctx context.Context, d delivery.Delivery) (sender.Message, error) {
	return w.compose(ctx, d, w.endpoint)
}

// ComposeNow is Compose for an attempt that a person or a replay requested. It reads the endpoint
// from the log.
func (w *Writer) ComposeNow(ctx context.Context, d delivery.Delivery) (sender.Message, error) {
	m, err := w.compose(ctx, d, w.endpointNow)
	m.About.Manual = true
	return m, err
}

// compose calls find after the wait, because the endpoint may change during the wait.
func (w *Writer) compose(ctx context.Context, d delivery.Delivery, find findEndpoint) (sender.Message, error) {
	if err := w.views.Shown(ctx, d.Aggregate, d.Shard, d.Seq); err != nil {
		return sender.Message{}, err
	}
	merchant, endpoint, err := find(ctx, d.Account, d.Endpoint)
	if err != nil {
		return sender.Message{}, err
	}
	if !endpoint.Enabled {
		return sender.Message{}, ErrDisabled
	}
	r, err := w.event(ctx, d)
	if err != nil {
		return sender.Message{}, err
	}
	m, err := w.signed(ctx, merchant, endpoint)
	if err != nil {
		return sender.Message{}, err
	}
	m.Request = r.CorrelationID
	if m.Listener != "" {
		m.About = about(d)
	}
	body := payload.Body{Head: payload.NewEnvelope(r, d.Kind, endpoint)}
	moment := w.secrets.Moment() // before the data is opened
	members, err := w.Members(ctx, r, d.Kind, merchant.Settings.First6Digits)
	body.Rest, m.Private = members.JSON, members.Personal
	m.Body = body.SignedAt
	unchanged := m.Fresh
	m.Fresh = func() error {
		if w.secrets.ErasedSince(moment, members.sealed) {
			return ErrErased
		}
		return unchanged()
	}
	return m, err
}

func (w *Writer) event(ctx context.Context, d delivery.Delivery) (*eventstore.Recorded, error) {
	r, err := w.events.read(ctx, d.Shard, d.Seq)
	if err == nil && (r.EventID != d.EventID || r.Account != d.Account) {
		err = fmt.Errorf("notifier: shard %d sequence %d holds %s of %s, not the delivery's event", d.Shard, d.Seq, r.EventID, r.Key)
	}
	return r, err
}

// Body returns the body of a delivery for an attempt at a time, rendered now: erased data is left
// out. It reads the endpoint from the log and reads no signing secret. ErrNoEndpoint means that the
// endpoint is deleted; a disabled one has bodies.
func (w *Writer) Body(ctx context.Context, d delivery.Delivery, signedAt time.Time) ([]byte, error) {
	merchant, endpoint, err := w.endpointNow(ctx, d.Account, d.Endpoint)
	if err != nil {
		return nil, err
	}
	r, err := w.event(ctx, d)
	if err != nil {
		return nil, err
	}
	members, err := w.Members(ctx, r, d.Kind, merchant.Settings.First6Digits)
	if err != nil {
		return nil, err
	}
	return payload.Body{Head: payload.NewEnvelope(r, d.Kind, endpoint), Rest: members.JSON}.SignedAt(signedAt)
}

// ComposeTest returns the test message for an endpoint, enabled or not (D17, §6.1 rule 7).
func (w *Writer) ComposeTest(ctx context.Context, owner domain.AccountID, id domain.EndpointID) (sender.Message, error) {
	merchant, endpoint, err := w.endpointNow(ctx, owner, id)
	if err != nil {
		return sender.Message{}, err
	}
	m, err := w.signed(ctx, merchant, endpoint)
	if err != nil {
		return sender.Message{}, err
	}
	body, err := json.Marshal(map[string]string{"message": testText})
	m.Body = sender.Fixed(body)
	return m, err
}

// signed returns a message without a body: the endpoint's URL and the account's signing secrets.
func (w *Writer) signed(ctx context.Context, merchant account.State, endpoint account.Endpoint) (m sender.Message, err error) {
	m.URL = endpoint.URL
	if m.Keys, err = w.keys.current(ctx, merchant.Signing, w.now()); err != nil {
		err = fmt.Errorf("notifier: signing secret of account %s: %w", merchant.ID, err)
	}
	m.Fresh = func() error {
		if w.changed(merchant, endpoint) {
			return errChanged
		}
		return nil
	}
	if !endpoint.Listener() {
		return m, err
	}
	// A listener's own secret signs, too: in X-Signature-Listener, and in X-Signature-Secondary
	// unless the previous signing secret has that header (§5.2 rule 3), because a reader may know
	// no other secret.
	m.Listener = listener.Endpoint{Account: merchant.ID, ID: endpoint.ID}.Lane()
	if w.Listeners != nil && len(m.Keys) > 0 {
		m.Keys = append(m.Keys, sender.Key{Name: domain.SecretID("listener." + string(endpoint.ID)), Text: w.Listeners.Secret(m.Listener)})
	}
	return m, err
}

func about(d delivery.Delivery) listener.Request {
	r := listener.Request{Delivery: d.ID(), Kind: string(d.Kind), Attempt: len(d.Attempts) + 1}
	if d.Aggregate == eventstore.Payments.Name {
		r.Payment = d.AggregateID
	}
	return r
}

// Endpoint returns an endpoint as it is in the log, or ErrNoEndpoint.
func (w *Writer) Endpoint(ctx context.Context, owner domain.AccountID, id domain.EndpointID) (account.Endpoint, error) {
	_, endpoint, err := w.endpointNow(ctx, owner, id)
	return endpoint, err
}

// Remember caches an event that has new deliveries: composing their messages does not read it from
// the log.
func (w *Writer) Remember(r *eventstore.Recorded) { w.events.put(r) }

// Members are the members of a body after the envelope.
type Members struct {
	JSON     []byte // an object
	Personal domain.Personal
	sealed   *domain.Sealed // the personal data before it was opened; nil: none
}

// Members returns the members for an event and a kind. The personal data is opened for each
// message: erased data is not sent.
func (w *Writer) Members(ctx context.Context, r *eventstore.Recorded, kind webhook.Kind, first6 bool) (m Members, err error) {
	switch r.Aggregate {
	case eventstore.Disputes.Name:
		state, err := eventstore.StateAt(ctx, w.store, eventstore.Disputes, r)
		if err != nil {
			return m, err
		}
		m.JSON, err = w.events.render(r, variant{kind: kind}, m.Personal, func() (any, error) { return payload.OfDispute(kind, r, state) })
		return m, err
	case eventstore.WorkflowRuns.Name:
		state, err := eventstore.StateAt(ctx, w.store, eventstore.WorkflowRuns, r)
		if err != nil {
			return m, err
		}
		m.JSON, err = w.events.render(r, variant{kind: kind}, m.Personal, func() (any, error) { return payload.OfRun(r, state) })
		return m, err
	}
	state, err := eventstore.StateAt(ctx, w.store, eventstore.Payments, r)
	if err != nil {
		return m, err
	}
	if payload.ShowsCustomer(kind) {
		m.sealed = state.Details().Personal
		if m.Personal, err = w.secrets.Open(ctx, m.sealed); err != nil {
			return m, fmt.Errorf("notifier: personal data of %s: %w", r.Key, err)
		}
	}
	m.JSON, err = w.events.render(r, variant{kind: kind, first6: first6}, m.Personal, func() (any, error) {
		return payload.OfPayment(kind, r, state, m.Personal, first6)
	})
	return m, err
}
