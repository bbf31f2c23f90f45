package notifier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
	"payledger/projections"
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
	EventType          Kind             `json:"eventType"`
	Date               projections.Time `json:"date"` // of the event
	NotificationConfig config           `json:"notificationConfig"`
	Version            string           `json:"version"`
	SignedAt           string           `json:"signedAt"` // Unix seconds, of the attempt (§5.2)
	EventID            string           `json:"eventId"`
	Sequence           uint64           `json:"sequence"` // the event's revision
}

// statusPayload is the body of PAYMENT.STATUS and PAYMENT.REFUND (§6.2, D17).
type statusPayload struct {
	envelope
	Payment projections.Payment `json:"payment"`
}

func (p statusPayload) at(signedAt string) any {
	p.SignedAt = signedAt
	return p
}

// payload is a webhook's body but for the time of its signature.
type payload interface {
	// at gives the body for an attempt.
	at(signedAt string) any
}

// message is a webhook that is ready but for its signature, which is made at the attempt.
type message struct {
	url    string
	secret string // never logged
	body   payload
}

// signedAt gives the body for an attempt at now.
func (m message) signedAt(now time.Time) ([]byte, error) {
	return json.Marshal(m.body.at(strconv.FormatInt(now.Unix(), 10)))
}

// writer makes messages.
type writer struct {
	store *eventstore.Store
	vault *secrets.Vault
	views Views
}

// write makes the message of a delivery: the state at its event (D17), once GET shows at least that state.
// No failure here is the receiver's; every one may pass.
func (w writer) write(ctx context.Context, d Delivery) (message, error) {
	if err := w.views.WaitFor(ctx, d.Shard, d.Seq); err != nil {
		return message{}, err
	}
	r, err := w.store.Read(ctx, d.Shard, d.Seq)
	if err != nil {
		return message{}, err
	}
	if r.EventID != d.EventID || r.Account != d.Account || r.Aggregate != eventstore.Payments.Name {
		return message{}, fmt.Errorf("notifier: shard %d sequence %d holds %s of %s, not the delivery's event", d.Shard, d.Seq, r.EventID, r.Key)
	}
	merchant, endpoint, err := w.endpoint(ctx, d)
	if err != nil {
		return message{}, err
	}
	secret, err := w.vault.Get(ctx, merchant.Signing.Secret)
	if err != nil {
		return message{}, fmt.Errorf("notifier: signing secret of account %s: %w", d.Account, err)
	}
	body, err := w.payload(ctx, d, r, merchant, endpoint)
	return message{url: endpoint.URL, secret: string(secret), body: body}, err
}

// endpoint finds the delivery's endpoint as it is now: in the views, else, where they lag behind, in the
// log.
func (w writer) endpoint(ctx context.Context, d Delivery) (account.State, account.Endpoint, error) {
	is := func(e account.Endpoint) bool { return e.ID == d.Endpoint }
	merchant, _ := w.views.Account(d.Account)
	if i := slices.IndexFunc(merchant.Endpoints, is); i >= 0 {
		return merchant, merchant.Endpoints[i], nil
	}
	tip, err := eventstore.LoadTipAtLeader(ctx, w.store, eventstore.Accounts, eventstore.Accounts.Key(d.Account, string(d.Account)))
	if err != nil {
		return merchant, account.Endpoint{}, err
	}
	i := slices.IndexFunc(tip.State.Endpoints, is)
	if i < 0 {
		return merchant, account.Endpoint{}, errors.New("notifier: the delivery's endpoint is not there")
	}
	return tip.State, tip.State.Endpoints[i], nil
}

// payload makes the body of a delivery of r.
func (w writer) payload(ctx context.Context, d Delivery, r *eventstore.Recorded, merchant account.State, endpoint account.Endpoint) (payload, error) {
	state, err := eventstore.StateAt(ctx, w.store, eventstore.Payments, r)
	if err != nil {
		return nil, err
	}
	head := envelope{
		EventType: d.Kind, Date: projections.Time{Time: r.Time}, Version: versions[d.Kind],
		NotificationConfig: config{ID: endpoint.ID, Description: endpoint.Description},
		EventID:            r.EventID, Sequence: r.Revision,
	}
	if d.Kind != PaymentStatus && d.Kind != PaymentRefund {
		return newFailurePayload(head, r, state)
	}
	personal, err := w.vault.Open(ctx, state.Personal)
	if err != nil {
		return nil, fmt.Errorf("notifier: personal data of %s: %w", r.Key, err)
	}
	return statusPayload{envelope: head, Payment: projections.RenderPayment(state, personal, projections.RenderOptions{
		Webhook: true, First6Digits: merchant.Settings.First6Digits,
	})}, nil
}
