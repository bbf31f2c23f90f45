package replay

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/eventstore/commands/causes"
	"payledger/eventstore/deliverylog"
	"payledger/notifier/delivery"
	"payledger/projections/deliveries"
)

// schema is the schema version of a record's bytes. The rules of delivery.Schema apply.
const schema = 1

// prefix begins the name of a replay's record: replay.<accountId>.<id>.
const prefix = "replay."

// record is a replay: its request and its progress. The whole record is written again after each
// chunk.
type record struct {
	Schema      int                    `json:"schema"`
	ID          string                 `json:"id"`
	Account     domain.AccountID       `json:"accountId"`
	Endpoint    domain.EndpointID      `json:"endpointId"`
	From        time.Time              `json:"from"` // of the events, inclusive
	To          time.Time              `json:"to"`
	Kinds       []webhook.Kind         `json:"eventTypes"` // never empty
	OnlyFailed  bool                   `json:"onlyFailed,omitempty"`
	CreatedAt   time.Time              `json:"createdAt"`
	Runner      string                 `json:"runner"`          // the writing process, so that no two nodes write the same bytes
	Owner       string                 `json:"owner,omitempty"` // in a cluster: owner id of the node that runs it
	State       deliveries.ReplayState `json:"state"`
	Failure     string                 `json:"failure,omitempty"`
	End         []uint64               `json:"end"`             // per shard: no event behind this sequence is in the replay
	At          []uint64               `json:"at"`              // per shard: the replay is done with events up to this sequence
	DoneAfterAt []string               `json:"ahead,omitempty"` // names of finished deliveries of events after At
	Through     uint64                 `json:"through"`         // the end of the stream of deliveries at the time of the count
	Count       int                    `json:"count"`
	Done        int                    `json:"done"`
}

func nameOf(owner domain.AccountID, id string) string {
	return prefix + string(owner) + "." + id
}

func (r *record) name() string { return nameOf(r.Account, r.ID) }

func (r *record) encode() ([]byte, error) {
	body, err := codec.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("notifier: replay %s: %w", r.ID, err)
	}
	return body, nil
}

func decode(stored deliverylog.Record) (record, error) {
	var r record
	err := codec.Unmarshal(stored.Body, &r)
	switch {
	case err != nil:
	case r.Schema > schema:
		err = fmt.Errorf("%w: schema %d, known is %d", delivery.ErrNewerRecord, r.Schema, schema)
	case r.name() != stored.Name || len(r.At) != len(r.End) || len(r.Kinds) == 0:
		err = errors.New("its name or its content is wrong")
	}
	if err != nil {
		return r, fmt.Errorf("notifier: %s: %w", stored.Name, err)
	}
	return r, nil
}

func (r *record) value() deliveries.Replay {
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

// wanted returns the webhooks that the event may cause among the replay's kinds.
func (r *record) wanted(e *eventstore.Recorded) ([]webhook.Candidate, error) {
	if e.Account != r.Account || e.Time.Before(r.From) || e.Time.After(r.To) {
		return nil, nil
	}
	candidates, err := causes.Candidates(e)
	if err != nil {
		return nil, fmt.Errorf("%s revision %d (shard %d sequence %d): %w", e.Key, e.Revision, e.Shard, e.Seq, err)
	}
	var wanted []webhook.Candidate
	for _, c := range candidates {
		if slices.Contains(r.Kinds, c.Kind) {
			wanted = append(wanted, c)
		}
	}
	return wanted, nil
}
