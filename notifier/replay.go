package notifier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/causes"
	"payledger/eventstore/codec"
	"payledger/notifier/delivery"
	"payledger/projections/deliveries"
)

// replaySchema is the schema version of a replay's bytes. The rules of delivery.Schema apply.
const replaySchema = 2

const (
	// replaysName is the name of the record that lists the open replays. A replay's own record is
	// replay.<accountId>.<id>. Both are in the stream of deliveries.
	replaysName  = "replays"
	replayPrefix = "replay."
	// maxReplays bounds the open replays of one account.
	maxReplays = 4
)

// replay is the record of a replay: its request and its progress. The whole record is written again after each chunk.
type replay struct {
	Schema     int                    `json:"schema"`
	ID         string                 `json:"id"`
	Account    domain.AccountID       `json:"accountId"`
	Endpoint   domain.EndpointID      `json:"endpointId"`
	From       time.Time              `json:"from"` // of the events, inclusive
	To         time.Time              `json:"to"`
	Kinds      []webhook.Kind         `json:"eventTypes"` // never empty
	OnlyFailed bool                   `json:"onlyFailed,omitempty"`
	CreatedAt  time.Time              `json:"createdAt"`
	Runner     string                 `json:"runner"` // the writing process, so that no two processes write the same bytes
	State      deliveries.ReplayState `json:"state"`
	Failure    string                 `json:"failure,omitempty"`
	End        []uint64               `json:"end"`             // per shard: the sequence of the last event in the replay
	At         []uint64               `json:"at"`              // per shard: the replay is done with events up to this sequence
	Ahead      []string               `json:"ahead,omitempty"` // names of finished deliveries of events after At
	Through    uint64                 `json:"through"`         // the end of the stream of deliveries at the time of the count
	Count      int                    `json:"count"`
	Done       int                    `json:"done"`
}

func replayName(owner domain.AccountID, id string) string {
	return replayPrefix + string(owner) + "." + id
}

func (r *replay) name() string { return replayName(r.Account, r.ID) }

func (r *replay) encode() ([]byte, error) {
	body, err := codec.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("notifier: replay %s: %w", r.ID, err)
	}
	return body, nil
}

func decodeReplay(stored eventstore.StoredDelivery) (replay, error) {
	var r replay
	err := codec.Unmarshal(stored.Body, &r)
	switch {
	case err != nil:
	case r.Schema > replaySchema:
		err = fmt.Errorf("%w: schema %d, known is %d", delivery.ErrNewerRecord, r.Schema, replaySchema)
	case r.name() != stored.Name || len(r.At) != len(r.End) || len(r.Kinds) == 0:
		err = errors.New("it does not fit its name")
	}
	if err != nil {
		return r, fmt.Errorf("notifier: %s: %w", stored.Name, err)
	}
	return r, nil
}

// value converts the replay for an answer.
func (r *replay) value() deliveries.Replay {
	v := deliveries.Replay{
		ReplayRequest: deliveries.ReplayRequest{
			Account: r.Account, Endpoint: r.Endpoint, From: r.From, To: r.To, OnlyFailed: r.OnlyFailed,
		},
		ID: r.ID, CreatedAt: r.CreatedAt, State: r.State, Count: r.Count, Done: r.Done, Failure: r.Failure,
	}
	for _, k := range r.Kinds {
		v.EventTypes = append(v.EventTypes, string(k))
	}
	return v
}

// covers reports whether an event's time is in the replay's range.
func (r *replay) covers(at time.Time) bool { return !at.Before(r.From) && !at.After(r.To) }

// step is the action of a replay for one delivery.
type step int

const (
	stepNone    step = iota // the delivery does not belong to the replay
	stepHandled             // the delivery belongs to the replay and needs no sending any more
	stepAgain               // resend the delivery
	stepAnew                // plan the delivery, which does not exist
)

// stepOf returns the replay's step for a webhook that the event may cause, and the delivery's name. The step depends on the
// delivery's status at the time of the count, so the replay handles as many deliveries as it counted.
func (l *DeliveryLog) stepOf(ctx context.Context, p *replay, r *eventstore.Recorded, c webhook.Candidate) (step, string, error) {
	name := delivery.Delivery{Account: r.Account, Endpoint: p.Endpoint, EventID: r.EventID, Kind: c.Kind}.Name()
	row, found, err := l.index.Find(ctx, p.Account, delivery.IDOf(name))
	was := delivery.Status(row.Status)
	if err == nil && found && row.Seq > p.Through { // the newest record was written after the count
		was, err = l.statusAt(ctx, name, p.Through)
	}
	switch {
	case err != nil:
		return stepNone, name, err
	case found && l.stream.Floor().Covers(row.Seq): // the record was dropped
		return stepNone, name, nil
	case found:
		return p.stepFor(was, delivery.Status(row.Status)), name, nil
	case p.OnlyFailed:
		return stepNone, name, nil
	}
	caused, err := causes.Holds(ctx, l.store, r, c.When, l.store.Read)
	if err != nil || !caused {
		return stepNone, name, err
	}
	return stepAnew, name, nil
}

// stepFor returns the step for a delivery that exists. was is the status at the time of the count, "" for a delivery that was
// planned later. is is the present status. With OnlyFailed, a delivery that has succeeded since the count needs no sending.
func (r *replay) stepFor(was, is delivery.Status) step {
	failed := was == delivery.Failed || was == delivery.Exhausted || was == delivery.Cancelled
	switch {
	case r.OnlyFailed && !failed:
		return stepNone
	case was == "", r.OnlyFailed && is == delivery.Succeeded:
		return stepHandled
	}
	return stepAgain
}

// statusAt returns a delivery's status when the stream of deliveries ended at a place, or "" if it was not planned then.
// A place, unlike a time, is the same on all machines.
func (l *DeliveryLog) statusAt(ctx context.Context, name string, place uint64) (delivery.Status, error) {
	stored, err := l.stream.AsOf(ctx, name, place)
	if errors.Is(err, eventstore.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	d, err := delivery.Decode(stored)
	return d.Status, err
}

// wantedOf returns the webhooks that the event may cause among the replay's kinds.
func (r *replay) wantedOf(e *eventstore.Recorded) ([]webhook.Candidate, error) {
	if e.Account != r.Account || !r.covers(e.Time) {
		return nil, nil
	}
	row, err := causes.Candidates(e)
	if err != nil {
		return nil, fmt.Errorf("%s revision %d (shard %d sequence %d): %w", e.Key, e.Revision, e.Shard, e.Seq, err)
	}
	if !slices.ContainsFunc(row, func(c webhook.Candidate) bool { return slices.Contains(r.Kinds, c.Kind) }) {
		return nil, nil
	}
	var wanted []webhook.Candidate
	for _, c := range row {
		if slices.Contains(r.Kinds, c.Kind) {
			wanted = append(wanted, c)
		}
	}
	return wanted, nil
}
