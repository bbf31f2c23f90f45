package payments

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/process"
	"payledger/eventstore"
	"payledger/eventstore/due"
)

// maxDoubts is the most payments that this process looks up soon. Package pending finds the others.
const maxDoubts = 4096

// doubts are payments of which this process does not know whether the log has a request: the append
// had no answer, or the log could not be read. Nobody else holds such a request, and package
// pending comes to it minutes later. So this process looks it up as soon as the log takes events
// again.
type doubts struct {
	mu       sync.Mutex
	accounts map[domain.PaymentID]domain.AccountID
	wake     chan struct{} // holds one signal: there are doubts
}

func newDoubts() *doubts {
	return &doubts{accounts: map[domain.PaymentID]domain.AccountID{}, wake: make(chan struct{}, 1)}
}

func (d *doubts) add(account domain.AccountID, id domain.PaymentID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.accounts) < maxDoubts {
		d.accounts[id] = account
		due.Signal(d.wake)
	}
}

func (d *doubts) remove(id domain.PaymentID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.accounts, id)
}

func (d *doubts) all() map[domain.PaymentID]domain.AccountID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.accounts)
}

// noteDoubt notes a payment whose request may be in the log although its append failed.
func (s *Payments) noteDoubt(account domain.AccountID, id domain.PaymentID, err error) {
	if errors.Is(err, eventstore.ErrUnknown) {
		s.doubts.add(account, id)
	}
}

// keepDoubts looks the payments up until the log has shown each.
func (s *Payments) keepDoubts() {
	for {
		select {
		case <-s.Life.Done():
			return
		case <-s.doubts.wake:
		}
		for all := s.doubts.all(); len(all) > 0; all = s.doubts.all() {
			if due.Rest(s.Life, logRetryMost/2+rand.N(logRetryMost/2), nil) != nil { //nolint:gosec // not security-relevant
				return
			}
			s.doubts.pass(all, func(id domain.PaymentID) int {
				return s.Store.ShardOf(eventstore.Payments.Key("", string(id)))
			}, func(account domain.AccountID, id domain.PaymentID) error {
				return s.resolveDoubt(s.Life, account, id)
			})
		}
	}
}

// pass looks each payment up once. The others of a shard whose read failed stay for the next pass:
// one read of a shard without a majority takes seconds, in which the payments of other shards would
// wait.
func (d *doubts) pass(all map[domain.PaymentID]domain.AccountID, shardOf func(domain.PaymentID) int, look func(domain.AccountID, domain.PaymentID) error) {
	failed := map[int]bool{}
	for id, account := range all {
		shard := shardOf(id)
		if failed[shard] {
			continue
		}
		d.remove(id) // before the read: a doubt that comes meanwhile stays
		if look(account, id) != nil {
			failed[shard] = true
			d.add(account, id)
		}
	}
}

// resolveDoubt reads a payment by a majority, and puts its open operations and its abandoned action
// into the schedule. If the schedule is full, package pending finds them in the views within a
// Cycle, as it finds doubts beyond maxDoubts: none waits for a restart.
func (s *Payments) resolveDoubt(ctx context.Context, account domain.AccountID, id domain.PaymentID) error {
	if err := s.Store.Accepts(eventstore.Payments.Key(account, string(id))); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Store.Patience())
	defer cancel()
	tip, err := s.Log.Payments.Load(ctx, account, id, eventstore.Latest) // also if this node knows another open operation
	if err != nil || tip.Recorded == nil {
		return err
	}
	soon := func(l *lookup) {
		l.next, l.failures = time.Now(), 1 // it comes after a failure of the log, however old it is
		s.inFlight.schedule(l)
	}
	for _, op := range process.Open(tip.State) {
		l := lookupOf(tip.State, op.Revision)
		l.asked = process.LookupsWithin(s.Store.Now().Sub(op.RequestedAt))
		soon(l)
	}
	if s.isAbandoned(tip.State, false) {
		soon(s.expiryLookup(tip.State))
	}
	return nil
}
