package modeltest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/format"
)

// standing is one event of the log.
type standing struct {
	Place place
	ID    string
	Op    int64
	Saw   tally
	State tally
}

// view is a whole log.
type view struct {
	ID     format.LogID
	Shards [][]standing
	keys   map[string][]standing
	ops    map[int64]standing
}

// look reads the whole log in every way there is, and checks that all of them agree.
func look(ctx context.Context, s *engine.Store) (*view, error) {
	v := &view{ID: s.ID(), keys: map[string][]standing{}, ops: map[int64]standing{}}
	var errs []error
	total := uint64(0)
	for shard := range s.Shards() {
		events, err := readShard(ctx, s, shard)
		if err != nil {
			return nil, fmt.Errorf("shard %d: %w", shard, err)
		}
		v.Shards = append(v.Shards, nil)
		total += uint64(len(events))
		for i, r := range events {
			if i > 0 && r.Seq <= events[i-1].Seq || r.Number != uint64(i+1) || r.Shard != shard {
				errs = append(errs, fmt.Errorf("shard %d: event %d stands at %s with number %d", shard, i+1, at(r.Seq), r.Number))
			}
			errs = append(errs, v.apply(r))
		}
	}
	if s.Events() != total {
		errs = append(errs, fmt.Errorf("the log has %d events and counts %d", total, s.Events()))
	}
	for id, events := range v.keys {
		errs = append(errs, compareKey(ctx, s, id, events))
	}
	errs = append(errs, v.compareNewest(ctx, s))
	return v, errors.Join(errs...)
}

// readShard reads a shard as a subscriber does.
func readShard(ctx context.Context, s *engine.Store, shard int) (events []*eventstore.Recorded, err error) {
	last, err := s.LastSeq(ctx, shard)
	if err != nil || last == 0 {
		return nil, err
	}
	errEnd := errors.New("end")
	err = s.Subscribe(ctx, shard, 0, func(r *eventstore.Recorded) error {
		events = append(events, r)
		if r.Seq >= last {
			return errEnd
		}
		return nil
	})
	if !errors.Is(err, errEnd) {
		return events, err
	}
	return events, nil
}

// apply adds an event to the view, and checks it against the aggregate's event before it.
func (v *view) apply(r *eventstore.Recorded) error {
	e, err := tallies.Event(r)
	if err != nil {
		return err
	}
	state, err := tallies.State(r)
	if err != nil {
		return err
	}
	var before standing
	if events := v.keys[r.ID]; len(events) > 0 {
		before = events[len(events)-1]
	}
	now := standing{Place: placeOf(r), ID: r.ID, Op: e.Op, Saw: e.Saw, State: state}
	var errs []error
	fail := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s revision %d at %s: %s", r.ID, r.Revision, at(r.Seq), fmt.Sprintf(format, args...)))
	}
	if other, twice := v.ops[e.Op]; twice {
		fail("operation %d stands at %s too", e.Op, at(other.Place.Address))
	}
	if r.Revision != before.Place.Revision+1 || r.PrevSeq != before.Place.Address {
		fail("it names %s as the place before; revision %d is at %s", at(r.PrevSeq), before.Place.Revision, at(before.Place.Address))
	}
	if hash := auditorsHash(before.Place.Hash, r); hash != r.Hash {
		fail("hash %s, an auditor computes %s", r.Hash, hash)
	}
	if e.Saw != before.State || state != fold(before.State, e) {
		fail("decided on %+v, and its state is %+v; before it was %+v", e.Saw, state, before.State)
	}
	v.Shards[r.Shard] = append(v.Shards[r.Shard], now)
	v.keys[r.ID], v.ops[e.Op] = append(v.keys[r.ID], now), now
	return errors.Join(errs...)
}

// auditorsHash computes an event's hash from its attributes, with no code of the package.
func auditorsHash(before eventstore.Hash, r *eventstore.Recorded) eventstore.Hash {
	text := fmt.Sprintf("ce-specversion:1.0\nce-id:%s\nce-type:%s\nce-source:/payledger\nce-subject:%s.%s.%s\nce-time:%s\n"+
		"content-type:application/msgpack\nLedger-Schema:%d\nLedger-Revision:%d\nLedger-Command-Id:%s\n"+
		"Ledger-Correlation-Id:%s\nLedger-Actor:%s\n\n",
		r.EventID, r.Type, r.Account, r.Aggregate, r.ID, r.Time.Format("2006-01-02T15:04:05.000000Z"),
		r.Schema, r.Revision, r.CommandID, r.CorrelationID, r.Actor)
	return sha256.Sum256(append(append(before[:], text...), r.Body...))
}

// compareKey compares an aggregate's tip and history with its events in the log.
func compareKey(ctx context.Context, s *engine.Store, id string, events []standing) error {
	newest := events[len(events)-1]
	tip, err := eventstore.Load(ctx, s, tallies, keyOf(id), eventstore.Applied)
	if err != nil {
		return err
	}
	if placeOf(tip.Recorded) != newest.Place || tip.State != newest.State {
		return fmt.Errorf("%s: the tip is %+v with %+v, the log ends with %+v", id, placeOf(tip.Recorded), tip.State, newest)
	}
	history, err := s.History(ctx, keyOf(id))
	if err != nil {
		return err
	}
	if len(history) != len(events) {
		return fmt.Errorf("%s: the history has %d events, the log %d", id, len(history), len(events))
	}
	for i, r := range history {
		if placeOf(r) != events[i].Place {
			return fmt.Errorf("%s: the history has %+v, the log %+v", id, placeOf(r), events[i].Place)
		}
	}
	state, err := tallies.Fold(history)
	if err == nil && state != newest.State {
		err = fmt.Errorf("%s: the fold is %+v, the tip %+v", id, state, newest.State)
	}
	return err
}

// compareNewest compares the list of aggregates with the log.
func (v *view) compareNewest(ctx context.Context, s *engine.Store) error {
	total, listed := uint64(0), map[string]bool{}
	err := s.Newest(ctx, owner, tallies.Name, func(n uint64) { total = n }, func(r *eventstore.Recorded) error {
		events := v.keys[r.ID]
		if listed[r.ID] || len(events) == 0 || placeOf(r) != events[len(events)-1].Place {
			return fmt.Errorf("the list has %s at %+v, listed before: %t; the log has %+v", r.ID, placeOf(r), listed[r.ID], events)
		}
		listed[r.ID] = true
		return nil
	})
	if err == nil && (len(listed) != len(v.keys) || total != uint64(len(listed))) {
		err = fmt.Errorf("the list has %d aggregates and announces %d; the log has %d", len(listed), total, len(v.keys))
	}
	return err
}
