package notifier

import (
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/projections/deliveries"
)

const (
	maxReplays     = 4 // open replays of one account
	replayAttempts = 6 // concurrent attempts of one replay
)

// storedReplay is the record of a replay, as the stream has it.
type storedReplay struct {
	Schema     int                    `json:"schema"`
	ID         string                 `json:"id"`
	Account    domain.AccountID       `json:"accountId"`
	Endpoint   domain.EndpointID      `json:"endpointId"`
	From       time.Time              `json:"from"`
	To         time.Time              `json:"to"`
	Kinds      []string               `json:"eventTypes"`
	OnlyFailed bool                   `json:"onlyFailed,omitempty"`
	CreatedAt  time.Time              `json:"createdAt"`
	Runner     string                 `json:"runner"`
	Owner      string                 `json:"owner,omitempty"`
	State      deliveries.ReplayState `json:"state"`
	Failure    string                 `json:"failure,omitempty"`
	End        []uint64               `json:"end"`
	At         []uint64               `json:"at"`
	Ahead      []string               `json:"ahead,omitempty"`
	Through    uint64                 `json:"through"`
	Count      int                    `json:"count"`
	Done       int                    `json:"done"`
}

// openReplays is the record that lists the open replays, as the stream has it.
type openReplays struct {
	Schema int      `json:"schema"`
	Open   []string `json:"open"`
	Runner string   `json:"runner"`
	Before uint64   `json:"before"`
}

func replayName(id string) string { return "replay." + string(merchantID) + "." + id }

func (r *logRig) storedReplay(id string) (p storedReplay, at uint64) {
	r.t.Helper()
	stored, err := r.log.stream.Last(context.Background(), replayName(id))
	r.must(err)
	r.must(codec.Unmarshal(stored.Body, &p))
	return p, stored.Seq
}

func (r *logRig) putReplay(at uint64, p storedReplay, open bool) {
	r.t.Helper()
	body, err := codec.Marshal(p)
	r.must(err)
	_, err = r.log.stream.Put(context.Background(), replayName(p.ID), at, body, open)
	r.must(err)
}

func (r *logRig) openReplays() (open openReplays, at uint64) {
	r.t.Helper()
	stored, err := r.log.stream.Last(context.Background(), "replays")
	if errors.Is(err, eventstore.ErrNotFound) {
		return openReplays{Schema: 1}, 0
	}
	r.must(err)
	r.must(codec.Unmarshal(stored.Body, &open))
	return open, stored.Seq
}

func (r *logRig) putOpen(at uint64, open openReplays) {
	r.t.Helper()
	open.Before = at
	body, err := codec.Marshal(open)
	r.must(err)
	_, err = r.log.stream.Put(context.Background(), "replays", at, body, true)
	r.must(err)
}
