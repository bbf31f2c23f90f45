package notifier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/commands/causes"
	"payledger/eventstore/deliverylog"
	"payledger/notifier/delivery"
	"payledger/notifier/message"
	"payledger/notifier/sender"
)

func noRecord(context.Context) error { return nil }

// ResendOnce makes one manual attempt of a delivery now, in any status, and records it (D18). A
// success ends the delivery; a failure changes only the list of attempts. A receiver's failure is
// not returned as an error. eventstore.ErrNotFound means that the account has no such delivery.
// ErrNoEndpoint and ErrDisabled mean that nothing was sent, and so does delivery.ErrMaxManual: the
// delivery has as many manual attempts as it may have.
//
// key is the request's idempotency key; "" for none. If an attempt with the key is recorded,
// ResendOnce makes none. Otherwise it calls record first. If record fails, nothing is sent. From
// that call on, the end of ctx changes nothing: the attempt is made and recorded.
func (n *Notifier) ResendOnce(ctx context.Context, owner domain.AccountID, name, key string, record func(context.Context) error) error {
	return n.resend(ctx, context.WithoutCancel(ctx), owner, name, delivery.RequestOf(key), func() error { return nil }, record)
}

// ResendUntil is ResendOnce without a key. If cut ends, the attempt ends without a record. Nothing
// is sent if owns returns an error, or if the owner id of this node changes after the call of owns.
func (n *Notifier) ResendUntil(ctx, cut context.Context, owner domain.AccountID, name string, owns func() error) error {
	return n.resend(ctx, cut, owner, name, "", owns, noRecord)
}

func (n *Notifier) resend(ctx, cut context.Context, owner domain.AccountID, name, request string, owns func() error, record func(context.Context) error) error {
	if !strings.HasPrefix(name, string(owner)+".") {
		return fmt.Errorf("notifier: delivery %q: %w", name, eventstore.ErrNotFound)
	}
	unlock, ok := n.locks.lock(ctx, name)
	if !ok {
		return ctx.Err()
	}
	defer unlock()
	stored, d, err := n.last(ctx, name)
	if err != nil {
		return err
	}
	if request != "" && d.Requested(request) {
		return nil
	}
	if err := d.CheckManual(); err != nil {
		return err
	}
	whole := context.WithoutCancel(ctx)
	composeCtx, recorded, cause := ctx, false, ""
	a, err := n.send(whole, cut, func(context.Context) (sender.Message, error) {
		if err := owns(); err != nil { // after send has looked up the owner id, and after each wait
			return sender.Message{}, err
		}
		m, err := n.messages.ComposeNow(composeCtx, d)
		cause = m.Request
		if err = cmp.Or(err, composeCtx.Err()); err != nil || recorded { // for example the endpoint is deleted
			return m, err
		}
		composeCtx, recorded = whole, true // from here on the attempt is made even if the client has gone
		return m, record(whole)
	})
	if err != nil {
		return err
	}
	a.Manual, a.Request = true, request
	return n.recordManual(whole, stored, d, a, cause)
}

func (n *Notifier) last(ctx context.Context, name string) (deliverylog.Record, delivery.Delivery, error) {
	stored, err := n.stream.Last(ctx, name)
	if err != nil {
		return stored, delivery.Delivery{}, err
	}
	d, err := delivery.Decode(stored)
	return stored, d, err
}

// recordManual records an attempt. cause is the id of the request that caused the event.
func (n *Notifier) recordManual(ctx context.Context, stored deliverylog.Record, d delivery.Delivery, a delivery.Attempt, cause string) error {
	for {
		after := d.WithAttempt(a, n.retries)
		after.Sender, _ = n.ownership.Holder() // others take the delivery over if this owner id is gone
		body, err := after.Encode()
		if err != nil {
			return err
		}
		place, err := n.stream.Put(ctx, stored.Name, stored.Seq, body, after.Status.Open())
		if err == nil {
			n.lanes.of(after.Lane()).moved(stored.Seq, place, after)
			n.tally.record(d.Status, after, cause)
			return nil
		}
		if !errors.Is(err, eventstore.ErrConflict) {
			return err
		}
		if stored, d, err = n.last(ctx, stored.Name); err != nil {
			return err
		}
	}
}

// SendTest sends the signed test message to an endpoint, enabled or not (D17, §6.1 rule 7). The
// message is neither recorded nor repeated.
func (n *Notifier) SendTest(ctx context.Context, owner domain.AccountID, endpoint domain.EndpointID) (delivery.Attempt, error) {
	a, err := n.send(ctx, ctx, func(ctx context.Context) (sender.Message, error) { return n.messages.ComposeTest(ctx, owner, endpoint) })
	a.Number, a.Manual = 1, true
	return a, err
}

// Plan plans the deliveries that an event causes for one endpoint: the given kinds or, without
// kinds, those that the endpoint wants. It returns the names of the new ones. ErrNoEndpoint and
// ErrDisabled mean that the endpoint takes no webhooks.
func (n *Notifier) Plan(ctx context.Context, r *eventstore.Recorded, endpoint domain.EndpointID, kinds []webhook.Kind) (created []string, err error) {
	wanted, err := n.wanted(ctx, r, endpoint, kinds)
	if err != nil || len(wanted) == 0 {
		return nil, err
	}
	owner, err := n.planner.owner(ctx)
	if err != nil {
		return nil, err
	}
	at := n.Now().UTC().Truncate(time.Microsecond)
	for _, kind := range wanted {
		d := delivery.Plan(r, endpoint, kind, owner, at)
		lane := n.lanes.of(d.Lane())
		made, err := n.planner.put(ctx, d)
		switch {
		case err == nil:
			lane.offer(made)
			created = append(created, d.Name())
		case !errors.Is(err, eventstore.ErrConflict):
			lane.scanFrom(1) // the failed write may have stored the record
			return created, err
		}
	}
	return created, nil
}

func (n *Notifier) wanted(ctx context.Context, r *eventstore.Recorded, id domain.EndpointID, kinds []webhook.Kind) (wanted []webhook.Kind, err error) {
	endpoint, err := n.messages.Endpoint(ctx, r.Account, id)
	if err != nil {
		return nil, err
	}
	if !endpoint.Enabled {
		return nil, message.ErrDisabled
	}
	row, err := causes.Candidates(r)
	if err != nil {
		return nil, err
	}
	for _, c := range row {
		if !wantsKind(kinds, c.Kind, endpoint) {
			continue
		}
		caused, err := causes.Holds(ctx, n.Store, r, c.When, n.Store.Read)
		if err != nil {
			return nil, err
		}
		if caused {
			wanted = append(wanted, c.Kind)
		}
	}
	return wanted, nil
}

func wantsKind(kinds []webhook.Kind, kind webhook.Kind, endpoint account.Endpoint) bool {
	if len(kinds) == 0 {
		return endpoint.Wants(string(kind))
	}
	return slices.Contains(kinds, kind)
}
