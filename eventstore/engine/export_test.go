package engine

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/cache"
	"payledger/eventstore/checkpoint"
	"payledger/eventstore/format"
	"payledger/eventstore/streams"
	"payledger/eventstore/tipstore"
)

// Private parts for the tests of this package. export_journal_test.go has those of groups and
// shards.

func (s *Store) Conn() *nats.Conn { return s.nc }

// PaymentParts are the parts that leave the state of a payment.
var PaymentParts = format.Leaving[payment.State]{
	Newest: func(s payment.State) (any, bool) { return s.NewestFinished() },
	Whole:  payment.State.HasPast, Earlier: payment.State.WithPastOf,
	Join: func(s payment.State, rows []format.LeftRow) (payment.State, error) {
		joined, err := eventstore.Payments.Core.Join(s, rows)
		return joined.(payment.State), err
	},
}

// Held reports whether no group may begin, because a back-up requested it.
func (s *Store) Held() bool { return s.hold.Active() }

// Draft makes the next event of an aggregate and does not append it.
func Draft[S any, E interface{ Type() string }](s *Store, a *eventstore.Aggregate[S, E], key format.Key, newest *format.Recorded, meta eventstore.Meta, event E) (*format.Recorded, error) {
	on := tip{State: a.Core.None(), Recorded: newest}
	if newest != nil {
		var err error
		if on.State, err = a.Core.DecodeState(newest); err != nil {
			return nil, err
		}
	}
	return draftOn(a.Core, key, s.ShardOf(key), on, meta, event, a.Schema)
}

// StateByRows returns the state after an event, completed with the parts moved out of it that are
// in the tip store and in memory.
func StateByRows[S any, E interface{ Type() string }](s *Store, a *eventstore.Aggregate[S, E], r *format.Recorded) (S, error) {
	state, err := a.Core.DecodeState(r)
	if err == nil {
		state, err = s.withRows(a.Core, r, state)
	}
	return state.(S), err
}

// Append is Store.append.
func (s *Store) Append(ctx context.Context, r *format.Recorded) error { return s.append(ctx, r) }

// Sicken marks the log as unhealthy.
func (s *Store) Sicken(err error) { s.markUnhealthy(err, false) }

// DamageCheckpoints marks the shard of the checkpoints as damaged behind its end.
func (s *Store) DamageCheckpoints(err error) error {
	end, _ := s.covers.end()
	return s.covers.markDamaged(end.Seq+1, err)
}

// AppendCheckpoint appends a checkpoint's message behind the newest one, and no checkpointer knows
// of it.
func (s *Store) AppendCheckpoint(ctx context.Context, message []byte) error {
	r := &format.Recorded{
		Key: checkpoint.Key, Shard: streams.CheckpointShard, Revision: 1, Type: checkpoint.RecordType, Schema: checkpoint.RecordSchema, Time: s.Now(), Body: message,
	}
	tip, err := s.covers.tip(checkpoint.Key)
	if err != nil {
		return err
	}
	previous := format.Hash{}
	if tip != nil {
		r.Revision, r.PrevSeq, previous = tip.Revision+1, tip.Seq, tip.Hash
	}
	r.Hash = r.Link(previous)
	return s.append(ctx, r)
}

// Recheck looks for holes as after a reconnect.
func (s *Store) Recheck(ctx context.Context) { s.recheck(ctx) }

// DeliveryQueue is the queue of records that wait to be appended.
type DeliveryQueue struct{ queue queue }

// Add adds a record that came at a moment.
func (q *DeliveryQueue) Add(name string, revision uint64, at time.Duration) {
	q.queue.add(&entry{r: &format.Recorded{Key: format.Key{ID: name}, Revision: revision}, began: time.Unix(0, int64(at))}, OutcomePatience)
}

// Take removes and returns the first n.
func (q *DeliveryQueue) Take(n int) (names []string) {
	for _, w := range q.queue.drafts[:n] {
		names = append(names, w.r.ID)
	}
	q.queue.drafts = q.queue.drafts[n:]
	return names
}

// NewTips is a cache of newest events.
func NewTips(capacity int) *cache.Cache[format.Key, *format.Recorded] { return newRecent(capacity) }

// Weight estimates the memory that the parts moved out of a state take, in bytes.
func Weight(state any) int { return (&format.Recorded{}).WithState(state).Weight() }

// ScrubPaced makes one pass that goes on where an interrupted one was.
func (s *Store) ScrubPaced(ctx context.Context, paced func(ctx context.Context, n int) error) error {
	c := &scrub{s: s, paced: paced, files: s.files(), tips: s.tips}
	return c.pass(ctx, true)
}

// ScrubWith is Scrub with another tip store.
func (s *Store) ScrubWith(ctx context.Context, tips *tipstore.Store) error {
	c := &scrub{s: s, paced: func(context.Context, int) error { return nil }, files: s.files(), tips: tips}
	return c.pass(ctx, false)
}

// ScrubKnowing is Scrub for a process that knows one stream more, with a sequence of it.
func (s *Store) ScrubKnowing(ctx context.Context, stream string, seq uint64) error {
	files := s.files()
	files.Known = func() map[string]uint64 {
		known := s.knownStreams()
		known[stream] = seq
		return known
	}
	c := &scrub{s: s, paced: func(context.Context, int) error { return nil }, files: files, tips: s.tips}
	return c.pass(ctx, false)
}
