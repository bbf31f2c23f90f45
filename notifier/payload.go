package notifier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
	"payledger/projections/paymentjson"
)

// The reasons why an endpoint takes no webhooks; test with errors.Is.
var (
	ErrNoEndpoint = errors.New("notifier: there is no such endpoint")
	ErrDisabled   = errors.New("notifier: the endpoint is disabled")
)

// Views is what the notifier needs of package projections.
type Views interface {
	// WaitFor returns when GET shows the event at seq of shard.
	WaitFor(ctx context.Context, shard int, seq uint64) error
	// Account gives the newest state of an account that the views show.
	Account(id domain.AccountID) (account.State, bool)
}

// config is notificationConfig of §6.2: the endpoint (D17).
type config struct {
	ID          domain.EndpointID `json:"id"`
	Description string            `json:"description"`
}

// envelope is what every body begins with (§6.2, §6.3, D17).
type envelope struct {
	EventType          webhook.Kind      `json:"eventType"`
	Date               *paymentjson.Time `json:"date,omitempty"`               // of the event; disputes tell none (§6.4)
	NotificationConfig *config           `json:"notificationConfig,omitempty"` // with payments only (§6.4, §6.5)
	Version            string            `json:"version"`
	SignedAt           string            `json:"signedAt"` // Unix seconds, of the attempt (§5.2)
	EventID            string            `json:"eventId"`
	Sequence           uint64            `json:"sequence"` // the event's revision
}

// statusPayload is the body of PAYMENT.STATUS and PAYMENT.REFUND after its envelope (§6.2, D17).
type statusPayload struct {
	Payment paymentjson.Payment `json:"payment"`
}

// key is a secret that an attempt is signed with.
type key struct {
	name domain.SecretID
	text string // never logged
}

// message is a webhook that is ready but for its signatures, which are made at the attempt.
type message struct {
	url     string
	keys    []key // the current secret, and the one before it while it is valid (§5.2 rule 3)
	head    envelope
	rest    []byte          // a JSON object: the body's other members
	private domain.Personal // in rest
	test    []byte          // the whole body of a test, which has no envelope (D17), or of a workflow's request

	idempotencyKey string // of a workflow's request (D19)
}

// signedAt gives the body for an attempt at now.
func (m message) signedAt(now time.Time) ([]byte, error) {
	if m.test != nil {
		return m.test, nil
	}
	m.head.SignedAt = strconv.FormatInt(now.Unix(), 10)
	head, err := json.Marshal(m.head)
	if err != nil {
		return nil, err
	}
	body := make([]byte, 0, len(head)+len(m.rest))
	body = append(body, head[:len(head)-1]...)
	body = append(body, ',')
	return append(body, m.rest[1:]...), nil
}

// writer makes messages.
type messageWriter struct {
	store    *eventstore.Store
	vault    *secrets.Store
	views    Views
	now      func() time.Time
	keys     *keyring
	events   *eventCache
	accounts *accounts
}

// write makes the message of a delivery: the state at its event (D17), once GET shows at least that state.
// ErrNoEndpoint, ErrDisabled: its endpoint takes no webhooks. No other failure here is the receiver's; every one
// may pass.
func (w messageWriter) write(ctx context.Context, d Delivery) (message, error) {
	return w.compose(ctx, d, w.accounts.endpoint)
}

// compose is write with a way to find the endpoint: it is looked for after the wait, as what changed meanwhile holds.
func (w messageWriter) compose(ctx context.Context, d Delivery, find findEndpoint) (message, error) {
	if err := w.views.WaitFor(ctx, d.Shard, d.Seq); err != nil {
		return message{}, err
	}
	merchant, endpoint, err := find(ctx, d.Account, d.Endpoint)
	if err != nil {
		return message{}, err
	}
	if !endpoint.Enabled {
		return message{}, ErrDisabled
	}
	c, err := w.events.of(ctx, d.Shard, d.Seq)
	if err != nil {
		return message{}, err
	}
	if r := c.recorded; r.EventID != d.EventID || r.Account != d.Account {
		return message{}, fmt.Errorf("notifier: shard %d sequence %d holds %s of %s, not the delivery's event", d.Shard, d.Seq, r.EventID, r.Key)
	}
	m := message{url: endpoint.URL, head: head(c.recorded, d.Kind, endpoint)}
	if m.keys, err = w.keys.of(ctx, merchant.Signing, w.now()); err != nil {
		return message{}, fmt.Errorf("notifier: signing secret of account %s: %w", d.Account, err)
	}
	m.rest, m.private, err = w.rest(ctx, c, d.Kind, merchant.Settings.First6Digits)
	return m, err
}

// head is the envelope of an event's webhook, but for the time of its signature.
func head(r *eventstore.Recorded, kind webhook.Kind, endpoint account.Endpoint) envelope {
	e := envelope{EventType: kind, Version: kind.Version(), EventID: r.EventID, Sequence: r.Revision}
	if r.Aggregate != eventstore.Disputes.Name {
		e.Date = &paymentjson.Time{Time: r.Time}
	}
	if r.Aggregate == eventstore.Payments.Name {
		e.NotificationConfig = &config{ID: endpoint.ID, Description: endpoint.Description}
	}
	return e
}

// rest gives the members after the envelope, made once per event and kind for all endpoints, and the personal data
// in them: that is opened anew each time, so that what was erased is not sent.
func (w messageWriter) rest(ctx context.Context, c *cachedEvent, kind webhook.Kind, first6 bool) ([]byte, domain.Personal, error) {
	var personal domain.Personal
	switch c.recorded.Aggregate {
	case eventstore.Disputes.Name:
		body, err := w.disputeRest(ctx, c, kind)
		return body, personal, err
	case eventstore.WorkflowRuns.Name:
		body, err := c.rendered(variant{kind: kind}, personal, func() (any, error) { return newRunPayload(ctx, w.store, c.recorded) })
		return body, personal, err
	}
	state, err := eventstore.StateAt(ctx, w.store, eventstore.Payments, c.recorded)
	if err != nil {
		return nil, personal, err
	}
	if tellsPerson(kind) {
		if personal, err = w.vault.Open(ctx, state.Details().Personal); err != nil {
			return nil, personal, fmt.Errorf("notifier: personal data of %s: %w", c.recorded.Key, err)
		}
	}
	body, err := c.rendered(variant{kind: kind, first6: first6}, personal, func() (any, error) {
		return payloadOf(kind, c.recorded, state, personal, first6)
	})
	return body, personal, err
}

// disputeRest is rest of an event of a dispute: it has no personal data.
func (w messageWriter) disputeRest(ctx context.Context, c *cachedEvent, kind webhook.Kind) ([]byte, error) {
	state, err := eventstore.StateAt(ctx, w.store, eventstore.Disputes, c.recorded)
	if err != nil {
		return nil, err
	}
	return c.rendered(variant{kind: kind}, domain.Personal{}, func() (any, error) { return newDisputePayload(kind, c.recorded, state) })
}

// tellsPerson tells whether webhooks of the kind hold the payment with its customer.
func tellsPerson(kind webhook.Kind) bool {
	return kind == webhook.PaymentStatus || kind == webhook.PaymentRefund
}

// payloadOf makes the members after the envelope.
func payloadOf(kind webhook.Kind, r *eventstore.Recorded, s payment.State, personal domain.Personal, first6 bool) (any, error) {
	if !tellsPerson(kind) {
		return newFailurePayload(r, s)
	}
	return statusPayload{paymentjson.Render(s, personal, paymentjson.Options{Webhook: true, First6Digits: first6})}, nil
}
