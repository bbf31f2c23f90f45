package replay

import (
	"context"
	"errors"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/format"
	"payledger/notifier/message"
	"payledger/projections/deliveries"
)

const model = "WebhookReplayRequest"

// Start counts the webhooks of one endpoint for the events of a time range that were recorded
// before the call, and starts to send them: existing deliveries again, missing ones for the first
// time. If dry is set, Start only counts. It refuses an endpoint that is deleted or disabled. A
// request with the idempotency key of an earlier one returns the replay of that one (repeat.go).
func (r *Replayer) Start(ctx context.Context, q deliveries.ReplayRequest, dry bool) (deliveries.Replay, error) {
	if !dry {
		if e, err := r.earlier(ctx, q); err != nil || e.stands {
			return e.replayOrConflict(q, err)
		}
	}
	p, err := r.newReplay(ctx, q)
	if err != nil {
		return deliveries.Replay{}, err
	}
	if err := r.count(ctx, &p); err != nil {
		return deliveries.Replay{}, deliveries.Unreadable(err)
	}
	if dry {
		v := p.value()
		v.ID, v.State = "", ""
		return v, nil
	}
	return r.recordAndStart(ctx, p, q)
}

// Find returns a replay's progress. A replay that is unknown or belongs to another account is
// EntityNotFound.
func (r *Replayer) Find(ctx context.Context, owner domain.AccountID, id string) (deliveries.Replay, error) {
	if !domain.ValidID(id) {
		return deliveries.Replay{}, errNotFound()
	}
	stored, err := r.Stream.Last(ctx, nameOf(owner, id))
	if errors.Is(err, eventstore.ErrNotFound) {
		return deliveries.Replay{}, errNotFound()
	}
	if err != nil {
		return deliveries.Replay{}, deliveries.Unreadable(err)
	}
	p, err := decode(stored)
	return p.value(), err
}

func errNotFound() error {
	return domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "There is no webhook replay of this id.")
}

// newReplay returns the requested replay. Its End is at most the end of the log: also an event that
// the planner has not reached is before the call.
func (r *Replayer) newReplay(ctx context.Context, q deliveries.ReplayRequest) (record, error) {
	endpoint, err := r.Endpoint(ctx, q.Account, q.Endpoint)
	switch {
	case errors.Is(err, message.ErrNoEndpoint):
		return record{}, account.NoEndpoint()
	case err != nil:
		return record{}, deliveries.Unreadable(err)
	case !endpoint.Enabled:
		return record{}, domain.Invalid(model, domain.Violation{Path: "$.endpointId", Description: "names an endpoint that is disabled"})
	}
	id, err := r.idFor(q)
	if err != nil {
		return record{}, err
	}
	end, err := r.Notifier.Planned(ctx)
	if err != nil {
		return record{}, deliveries.Unreadable(err)
	}
	found, err := r.between(ctx, eventstore.NewWindow(&q.From, &q.To), end)
	if err != nil {
		return record{}, deliveries.Unreadable(err)
	}
	owner, _ := r.Ownership.Holder() // if this id is gone, another node runs the replay
	return record{
		Schema: schema, ID: id, Account: q.Account, Endpoint: q.Endpoint, From: q.From, To: q.To,
		Kinds: kindsOf(q.EventTypes, endpoint), OnlyFailed: q.OnlyFailed, CreatedAt: r.Now().UTC().Truncate(time.Microsecond),
		Runner: r.process, Owner: owner, State: deliveries.ReplayRunning, End: found.through, At: found.after,
	}, nil
}

// between returns for each shard the addresses between which all events of a time up to an end are;
// the end twice if there are none.
func (r *Replayer) between(ctx context.Context, w eventstore.Window, end []uint64) (parts, error) {
	found := parts{after: slices.Clone(end), through: slices.Clone(end)}
	for shard := range end {
		near, err := r.Store.Near(ctx, shard, format.GroupOf(end[shard]), w)
		if err != nil {
			return found, err
		}
		if len(near) > 0 {
			found.after[shard] = min(near[0].Before(), end[shard])
			found.through[shard] = min(near[len(near)-1].Through(), end[shard])
		}
	}
	return found, nil
}

// parts are a part of each shard, by addresses.
type parts struct{ after, through []uint64 }

func kindsOf(asked []string, endpoint account.Endpoint) []webhook.Kind {
	if len(asked) == 0 {
		asked = endpoint.EventTypes
	}
	if len(asked) == 0 {
		return webhook.Kinds()
	}
	var kinds []webhook.Kind
	for _, k := range asked {
		kinds = append(kinds, webhook.Kind(k))
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// count counts the webhooks that the replay has to send.
func (r *Replayer) count(ctx context.Context, p *record) error {
	end, err := r.counts.begin(ctx, p.Account)
	if err != nil {
		return err
	}
	defer end()
	defer r.Index.Hasten()() // the index must not be behind the floor
	if p.Through, err = r.WaitForIndex(ctx); err != nil {
		return err
	}
	return r.eachEvent(ctx, p, func(e relevantEvent) error {
		for _, c := range e.wanted {
			what, _, err := r.stepOf(ctx, p, e.Recorded, c)
			if err != nil {
				return err
			}
			if what != stepNone {
				p.Count++
			}
		}
		return nil
	})
}

// recordAndStart makes a replay durable and starts it; doc.go describes the writes. The limit is
// checked before the first write, so a refused replay leaves no record, and again with the second,
// because other nodes may start replays meanwhile.
func (r *Replayer) recordAndStart(ctx context.Context, p record, q deliveries.ReplayRequest) (deliveries.Replay, error) {
	body, err := p.encode()
	if err != nil {
		return deliveries.Replay{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := r.earlier(ctx, q)
	if err != nil || e.stands {
		return e.replayOrConflict(q, err)
	}
	list, _, err := r.openList(ctx)
	if err != nil {
		return deliveries.Replay{}, deliveries.Unreadable(err)
	}
	if err := refuseTooMany(list.Open, p.Account); err != nil {
		return deliveries.Replay{}, err
	}
	if q.Record != nil {
		if err := q.Record(ctx, p.value()); err != nil {
			return deliveries.Replay{}, err
		}
		ctx = context.WithoutCancel(ctx) // the recorded replay begins even if the client has gone
	}
	at, err := r.Stream.Put(ctx, p.name(), e.at, body, false)
	if err != nil {
		return deliveries.Replay{}, domain.Unavailable(err)
	}
	err = r.changeOpen(ctx, func(open []string) ([]string, error) {
		if slices.Contains(open, p.name()) { // another node has begun the same request
			return open, nil
		}
		return append(open, p.name()), refuseTooMany(open, p.Account)
	})
	if err != nil {
		if domain.ReasonOf(err) == domain.ReasonRequestValidation {
			return deliveries.Replay{}, err
		}
		return deliveries.Replay{}, domain.OutcomeUnknown(err)
	}
	r.start(p, at)
	return p.value(), nil
}
