package eventstore

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/cache"
	"payledger/eventstore/deliverylog"
)

// Private parts for the tests of this package. export_journal_test.go has those of groups and shards.

func (s *Store) Conn() *nats.Conn { return s.nc }

// PaymentParts are the parts that leave the state of a payment.
var PaymentParts = paymentParts

// Held reports whether no group may begin, because a back-up requested it.
func (s *Store) Held() bool { return s.hold.Active() }

// Waiting is how many events wait for a reader in memory.
func (r *Reader) Waiting() int { return len(r.events) }

// Draft makes the next event of an aggregate and does not append it.
func Draft[S any, E interface{ Type() string }](s *Store, a *Aggregate[S, E], key Key, newest *Recorded, meta Meta, event E) (*Recorded, error) {
	on := tip{a.Core.None(), newest, false}
	if newest != nil {
		var err error
		if on.state, err = a.Core.DecodeState(newest); err != nil {
			return nil, err
		}
	}
	return draftOn(a.Core, key, s.ShardOf(key), on, meta, event, a.Schema)
}

// StateByRows returns the state after an event, completed with the parts moved out of it that are in the tip store and in memory.
func StateByRows[S any, E interface{ Type() string }](s *Store, a *Aggregate[S, E], r *Recorded) (S, error) {
	state, err := a.Core.DecodeState(r)
	if err == nil {
		state, err = s.withRows(a.Core, r, state)
	}
	return state.(S), err
}

// Append is Store.append.
func (s *Store) Append(ctx context.Context, r *Recorded) error { return s.append(ctx, r) }

// Recheck looks for holes as after a reconnect.
func (s *Store) Recheck(ctx context.Context) { s.recheck(ctx) }

// DeliveryQueue is the queue of records that wait to be appended.
type DeliveryQueue struct{ h *shard }

func NewDeliveryQueue() DeliveryQueue {
	return DeliveryQueue{newShard(&Store{}, deliverylog.ShardNumber)}
}

// Add adds a record that came at a moment.
func (q DeliveryQueue) Add(name string, revision uint64, at time.Duration) {
	q.h.enqueue(&entry{r: &Recorded{Key: Key{ID: name}, Revision: revision}, began: time.Unix(0, int64(at))})
}

func (q DeliveryQueue) Take(n int) (names []string) {
	for _, w := range q.h.waiting[:n] {
		names = append(names, w.r.ID)
	}
	q.h.waiting = q.h.waiting[n:]
	return names
}

// NewTips is a cache of newest events.
func NewTips(capacity int) *cache.Cache[Key, *Recorded] { return newRecent(capacity) }

// Weight estimates the memory that the parts moved out of a state take, in bytes.
func Weight(state any) int { return (&Recorded{}).WithState(state).Weight() }

// SetLease replaces the lease of this node; its loads may be stale from now on, as on replicas.
func (s *Store) SetLease(lease func() error) {
	s.readsMayBeStale = true
	s.lease.Store(&lease)
}
