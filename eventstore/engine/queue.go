package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/handover"
	"payledger/eventstore/pace"
)

// entry is a draft that waits to be appended, or a reader that waits until this process has applied
// what it may not miss (r is nil).
type entry struct {
	r     *format.Recorded
	began time.Time
	err   error
	ended bool
	done  chan struct{}

	origin  *origin // the node that handed it over; nil: a caller of this process
	handed  *shard  // in which another node may have it; nil: no other node has it
	away    string  // the node that has it, while it is not in the queue
	repeats bool    // it goes to that node again soon
	sent    uint64  // number of the newest request with it
	through uint64  // the group that must be applied before a reader or a refused draft ends; 0: none yet

	keys  []format.Key // of a reader: the aggregates; none: the whole shard
	group bool         // it waits for a group that is sent after it came
}

// end returns the result to the goroutine that waits for it. The shard is locked.
func (d *entry) end(err error) {
	if d.ended {
		return
	}
	if d.handed != nil {
		delete(d.handed.exchange.handed, d.r.Hash)
		if errors.Is(err, fault.ErrRefused) { // the other node may still append it
			err = fmt.Errorf("%w: %v", fault.ErrUnknown, err) //nolint:errorlint // it is no refusal
		}
	}
	d.err, d.ended = err, true
	if d.origin != nil {
		d.origin.ended(d)
		return
	}
	close(d.done)
}

func endAll(entries []*entry, err error) {
	for _, d := range entries {
		d.end(err)
	}
}

// queue has those who wait for the next group of this process.
type queue struct {
	drafts  []*entry // first come, first served
	readers []*entry // they end with any group
}

// add adds a draft. The first frame of an aggregate overtakes later frames of others that have
// waited for less than a time (streams.Kind).
func (q *queue) add(d *entry, overtaken time.Duration) {
	place := len(q.drafts)
	if overtaken > 0 && d.r.Revision == 1 {
		place = 0
		for place < len(q.drafts) && (q.drafts[place].r.Revision == 1 || d.began.Sub(q.drafts[place].began) > overtaken) {
			place++
		}
	}
	q.drafts = slices.Insert(q.drafts, place, d)
}

// putBack adds drafts that were in a group before all others.
func (q *queue) putBack(drafts []*entry) { q.drafts = append(drafts, q.drafts...) }

// remove removes a draft or a reader, and reports whether it was there.
func (q *queue) remove(e *entry) bool {
	before := len(q.drafts) + len(q.readers)
	is := func(other *entry) bool { return other == e }
	q.drafts, q.readers = slices.DeleteFunc(q.drafts, is), slices.DeleteFunc(q.readers, is)
	return len(q.drafts)+len(q.readers) < before
}

// overdue ends a draft that no owner has taken for too long.
func overdue(d *entry) bool {
	over := time.Since(d.began) > appendTimeout
	if over {
		d.end(fmt.Errorf("%w: the owner of the shard did not take it for %s", fault.ErrRefused, appendTimeout))
	}
	return over
}

// need has the reasons for a group without drafts, apart from the readers in the queue.
type need struct {
	through uint64 // the acknowledgement of this group is required: a group must follow it
	lease   bool   // a group renews the lease, or makes this node the owner
	heir    string // the next group names it as the next owner; "": nobody
}

// departure has when the next group may leave.
type departure struct {
	pace      pace.Pace // of the groups
	gathering bool      // the drafts in the queue leave soon: others join them until then
	quiet     time.Time // after a refused empty group: no empty group before this time, unless readers wait
	untaken   time.Time // the stream had no leader, or this process no connection: no group before this time
}

// isQuiet reports whether an empty group has just been refused.
func (d *departure) isQuiet() bool { return time.Now().Before(d.quiet) }

// isUntaken reports whether nobody has taken the newest group, a moment ago.
func (d *departure) isUntaken() bool { return time.Now().Before(d.untaken) }

// enqueue puts a draft into the queue. The caller holds the lock.
func (h *shard) enqueue(d *entry) { h.queue.add(d, h.kind.Overtaken) }

// withdraw takes back the draft of a caller that stopped waiting.
func (h *shard) withdraw(ctx context.Context, d *entry) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-d.done:
		return d.err
	default:
	}
	delete(h.exchange.handed, d.r.Hash)
	h.exchange.abandoned = max(h.exchange.abandoned, d.sent)
	if (h.queue.remove(d) || h.beyond.take(d)) && d.handed == nil {
		return fmt.Errorf("%w: it was never sent: %w", fault.ErrRefused, ctx.Err())
	}
	return fmt.Errorf("%w: %w", fault.ErrUnknown, ctx.Err())
}

// refuseWaiting ends the readers and the drafts in the queue: they were never sent. It also ends,
// as unknown, the drafts of groups that were found in the log and are not known to be durable. The
// caller holds the lock.
func (h *shard) refuseWaiting(cause error) {
	endAll(h.queue.drafts, fmt.Errorf("%w: it was never sent: %w", fault.ErrRefused, cause))
	endAll(h.queue.readers, fmt.Errorf("%w: %w", fault.ErrUnhealthy, cause))
	h.queue = queue{}
	h.refuseHanded(cause)
	h.tellRefusals()
	for _, f := range h.beyond.read {
		f.endAwaited(fmt.Errorf("%w: %w", fault.ErrUnknown, cause))
	}
}

// askEnd returns when this process has applied every event of an aggregate that any process had
// acknowledged before the call; the zero key stands for the whole shard. The owner of the shard
// knows it under its lease (package ownership), and answers other nodes in one message. Without a
// lease, askEnd waits for the acknowledgement of a group that is sent after the call: a writer that
// appends at a place of the shard knows all groups before that place. The group is the next one of
// the owner, or an empty one; all callers that wait when it is made share it. If the owner does not
// answer, it is an empty group of this process. Only the acknowledgement counts: a group with the
// same bytes may stand at the place since before the call. A read at the leader would be wrong: a
// leader that lost its connections answers with an old end for up to jetapi.StaleLeader.
func (h *shard) askEnd(ctx context.Context, key format.Key) error {
	h.mu.Lock()
	if group := eventstore.Demands(ctx, eventstore.Majority); !group && h.readable(key) {
		h.sendNext()
		h.mu.Unlock()
		return nil
	}
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, h.s.api.Patience())
	defer cancel()
	b := &entry{began: time.Now(), done: make(chan struct{}), group: h.s.majority || eventstore.Demands(ctx, eventstore.Majority)}
	if key != (format.Key{}) {
		b.keys = []format.Key{key}
	}
	h.mu.Lock()
	h.admit(b)
	f := h.makeGroup()
	h.mu.Unlock()
	if f != nil && !h.drive(f, ctx.Done()) {
		go h.drive(f, nil)
	}
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		h.stopReading(b)
		return noMajority(h, ctx.Err())
	}
}

func noMajority(h *shard, cause error) error {
	return fmt.Errorf("%w: %s: %w", fault.ErrNoMajority, h.name(), cause)
}

// stopReading takes back a reader that stopped waiting.
func (h *shard) stopReading(b *entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	is := func(waiting *entry) bool { return waiting == b }
	x := &h.exchange
	x.abandoned = max(x.abandoned, b.sent)
	x.readers, x.visits, x.reading = slices.DeleteFunc(x.readers, is), slices.DeleteFunc(x.visits, is), slices.DeleteFunc(x.reading, is)
	h.queue.remove(b)
}

// wantsEmpty reports whether an empty group is sent if there are no drafts. The caller holds the
// lock.
func (h *shard) wantsEmpty() bool {
	return len(h.queue.readers) > 0 || h.need.lease && !h.departure.isQuiet() || h.leaves()
}

// leaves reports whether the next group names another owner. The caller holds the lock.
func (h *shard) leaves() bool { return h.need.heir != "" && h.owner.Owns() && !h.departure.isQuiet() }

// gathers reports whether the drafts in the queue wait for others, which then share a group with
// them. The caller holds the lock.
func (h *shard) gathers() bool {
	if h.leaves() {
		return false
	}
	wait := h.departure.pace.Wait(time.Now(), len(h.queue.drafts))
	if wait > 0 && !h.departure.gathering {
		h.departure.gathering = true
		time.AfterFunc(wait, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.departure.gathering = false
			h.sendNext()
		})
	}
	return wait > 0
}

// wantAcknowledged requests the acknowledgement of the group at seq: an empty group follows it, if
// no other group does.
func (h *shard) wantAcknowledged(seq uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.head.Seq >= seq || h.stopped != nil || h.s.closing.Load() {
		return
	}
	h.need.through = max(h.need.through, seq)
	h.sendNext()
}

// rest lets no empty group leave for a while. The caller holds the lock.
func (h *shard) rest() {
	h.departure.quiet = time.Now().Add(resolvePause)
	h.lookAfter(resolvePause)
}

// lookAfter looks at the shard again after a wait.
func (h *shard) lookAfter(wait time.Duration) {
	time.AfterFunc(wait, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.sendNext()
	})
}

// wake looks at the shard again after a wait. The caller holds the lock.
func (h *shard) wake(wait time.Duration) {
	if h.exchange.waking || !h.asks() {
		return
	}
	h.exchange.waking = true
	time.AfterFunc(max(wait, time.Millisecond)+jitter(), func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.exchange.waking = false
		h.sendNext()
	})
}

// jitter returns a random wait, so that nodes do not repeat something at the same moment.
func jitter() time.Duration { return rand.N(100 * time.Millisecond) } //nolint:gosec // not security-relevant

// wantAcknowledgedLater delays the request for an empty group. The caller holds the lock.
func (h *shard) wantAcknowledgedLater(delay time.Duration) {
	if wanted := h.need.through; wanted > h.head.Seq {
		h.need.through = 0
		time.AfterFunc(delay, func() { h.wantAcknowledged(wanted) })
	}
}

// readsOf returns the aggregates that readers read, none for the whole shard, and whether they wait
// for a group.
func readsOf(readers []*entry) (keys []format.Key, group bool) {
	whole := false
	for _, b := range readers {
		group = group || b.group
		whole = whole || b.keys == nil
		for _, key := range b.keys {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	if whole || len(keys) > handover.MaxKeys {
		return nil, group
	}
	return keys, group
}
