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

// replaySchema is the schema version of a replay's bytes: as deliverySchema.
const replaySchema = 2

const (
	// replaysName is the record of the replays that are under way. A replay's own record is
	// replay.<accountId>.<id>; both stand beside deliveries.
	replaysName  = "replays"
	replayPrefix = "replay."
	// maxReplays is how many replays of one account may be under way.
	maxReplays = 4
)

// replay is the record of a replay: its request and its progress. Each chunk writes it again, whole.
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
	Runner     string                 `json:"runner"` // the process that wrote this: no two write the same bytes
	State      deliveries.ReplayState `json:"state"`
	Failure    string                 `json:"failure,omitempty"`
	End        []uint64               `json:"end"`             // per shard: the last sequence that it covers
	At         []uint64               `json:"at"`              // per shard: everything up to here is done
	Ahead      []string               `json:"ahead,omitempty"` // names of deliveries after At that are done
	Through    uint64                 `json:"through"`         // place in the stream of deliveries: what stands up to it was there at the count
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

// value returns the replay for an answer.
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

// step is what a replay does about one delivery.
type step int

const (
	stepNone    step = iota // it is none of the replay's
	stepHandled             // it was counted, and needs no sending any more
	stepAgain               // send it once more
	stepAnew                // plan it: it does not exist
)

// stepOf decides what a replay does about the delivery of a kind that the event may cause. The delivery's state when the
// replay counted decides, so the replay does as much as it counted. If the delivery was planned since, or failed then
// and succeeded since, it needs no sending.
func (l *DeliveryLog) stepOf(ctx context.Context, p *replay, r *eventstore.Recorded, c webhook.Candidate) (step, string, error) {
	name := delivery.Delivery{Account: r.Account, Endpoint: p.Endpoint, EventID: r.EventID, Kind: c.Kind}.Name()
	row, found, err := l.index.Find(ctx, p.Account, delivery.IDOf(name))
	was := delivery.Status(row.Status)
	if err == nil && found && row.Seq > p.Through { // it has gone on since the count
		was, err = l.statusAt(ctx, name, p.Through)
	}
	switch {
	case err != nil:
		return stepNone, name, err
	case found && l.stream.Floor().Covers(row.Seq): // it was dropped
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

// stepFor returns the step for a delivery that exists: was is its status when the replay counted, "" if it was not
// planned then; is is its status now.
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
// Places, unlike times, are the same for all machines.
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
