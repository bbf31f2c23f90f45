package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore"
	"payledger/eventstore/applied"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/ownership"
	"payledger/eventstore/pace"
)

const (
	fenceDelay   = 100 * time.Millisecond // wait for another acknowledgement, before an empty group is sent for a group of another writer
	witnessEvery = 100 * time.Millisecond // between two groups of a shard with a witness: the newest group of the next shard
)

// shard is one sequence of groups, as this process knows it. The log is the truth: head is its last acknowledged group, and the tips are the
// fold of all groups up to head. Readers see no group past head.
type shard struct {
	s *Store
	n int

	mu       sync.Mutex
	head     format.Head
	grown    chan struct{} // closed and replaced whenever head grows
	recent   applied.Groups
	tips     applied.Tips
	segments []segment
	rolling  bool              // a segment was closed and its successor is being made
	rollFrom uint32            // the segment of this number is closed as soon as it is open, however small it is
	floor    deliverylog.Floor // of deliveries: the dropped part
	begins   format.Head       // the end of the segment before the first one, as the first group names it
	stopped  error

	newest      atomic.Pointer[format.Link] // head, for the witness of another shard
	segmentLast uint64                      // last sequence of the open segment when the log was opened

	// Beyond head.
	front         format.Head           // the end of the shard if all groups under way are stored
	seen          []*format.Group       // read from the log, not known to be durable
	inFlight      []*groupInFlight      // sent, in order
	pending       map[format.Key]int    // how many groups beyond head hold an event of the aggregate
	pendingDrafts map[uint64][]*entry   // of groups of this process in seen, by sequence
	building      bool                  // a group is being encoded
	resolving     bool                  // a goroutine resolves the outcome of the first group in flight
	waiting       []*entry              // first come, first served
	barriers      []*entry              // readers that wait for the next group of this process
	owner         ownership.State       // the node that appends to the shard
	exchange      exchange              // with other nodes
	renew         bool                  // an empty group is wanted: it renews the lease, or makes this node the owner
	heir          string                // the next group names it as the next owner; "": nobody
	quiet         time.Time             // after a refused empty group: no empty group before this time, unless readers wait
	leaderless    time.Time             // the stream had no leader: no group before this time
	stored        []*entry              // drafts in the group that is being applied
	wanted        uint64                // a caller waits for the acknowledgement of this group: an empty group is sent if no other group is
	doubted       map[format.Hash]bool  // groups of this process with an unknown outcome
	witness       func() format.Witness // of the next shard
	named         time.Time             // when a group last had a witness
	pace          pace.Pace             // of the groups, on several replicas
	gathering     bool                  // the next group leaves soon
}

func newShard(s *Store, n int) *shard {
	h := &shard{
		exchange: exchange{handed: map[format.Hash]*entry{}, held: map[format.Hash]*entry{}},
		s:        s, n: n, grown: make(chan struct{}), tips: applied.NewTips(), pending: map[format.Key]int{}, doubted: map[format.Hash]bool{}, pendingDrafts: map[uint64][]*entry{},
	}
	h.newest.Store(&format.Link{})
	if s.node != "" {
		h.owner = ownership.New(s.node, s.clock)
	}
	return h
}

// tellNode sends an answer to another node. If it is lost, the node reads the group from the log, or sends its drafts again.
func (s *Store) tellNode(m *nats.Msg) {
	if err := s.nc.PublishMsg(m); err != nil {
		s.log.Debug().Err(err).Msg("an answer to another node was not sent")
	}
}

func (s *Store) sendAll() {
	for _, h := range s.all() {
		h.mu.Lock()
		h.sendNext()
		h.mu.Unlock()
	}
}

// end returns the shard's last acknowledged group, and a channel that closes when there is another.
func (h *shard) end() (format.Head, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.head, h.grown
}

// known is tip for the events in memory. The caller holds the lock.
func (h *shard) known(key format.Key) *format.Recorded {
	if r, ok := h.s.recent.Get(key); ok { // first: it may have the parts moved out of the state
		return r
	}
	return h.tips.Tip(key)
}

// apply applies an acknowledged group to the tips. The caller holds the lock, and has checked a group of another process.
func (h *shard) apply(g *format.Group) {
	h.head = g.After(h.head)
	h.noteOwner(g)
	h.s.side.Named(g.Beside.Checkpoints, g.Beside.Secrets)
	h.newest.Store(&format.Link{Seq: g.Seq, Hash: g.Hash})
	for _, r := range g.Frames {
		r := r.Owned()
		h.s.recent.Put(r.Key, r)
		h.tips.Apply(r)
		if r.Key == deliverylog.FloorKey {
			h.noteFloor(r)
		}
	}
	h.recent.Add(g)
	close(h.grown)
	h.grown = make(chan struct{})
	h.endHanded()
	if h.tips.Bytes() > h.s.dirtyLimit {
		due.Signal(h.s.flush)
	}
}

// observe takes the next group that was read from the log. It returns errBusy if the caller must read the group again later.
// Any other error means that the log is damaged.
func (h *shard) observe(g *format.Group) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.observeLocked(g)
}

// observeLocked is observe for callers that hold the lock.
func (h *shard) observeLocked(g *format.Group) error {
	switch {
	case h.busy() || g.Seq > h.front.Seq+1:
		return errBusy
	case g.Seq <= h.front.Seq:
		return nil
	}
	if err := h.check(g); err != nil {
		return h.markDamagedLocked(g.Seq, err)
	}
	h.accept(g)
	return nil
}

// accept takes the next group of another process, which was checked. The caller holds the lock.
func (h *shard) accept(g *format.Group) {
	delete(h.doubted, g.Hash)
	h.front = g.After(h.front)
	if h.s.replicas > 1 || h.s.readOnly { // a reader sees only groups that a quorum has committed
		h.settleHanded(g)
		h.apply(g)
		h.closed(g)
		h.sendNext()
		return
	}
	h.seen = append(h.seen, g)
	for _, r := range g.Frames {
		h.pending[r.Key]++
	}
	h.closed(g)
	if len(g.Frames) > 0 {
		time.AfterFunc(fenceDelay+jitter(), func() { h.wantFence(g.Seq) })
	}
	h.sendNext()
}

func (h *shard) lastSeen() uint64 {
	if len(h.seen) == 0 {
		return 0
	}
	return h.seen[len(h.seen)-1].Seq
}

// confirm applies the groups up to seq that were read from the log: a later acknowledgement covers them. The caller holds
// the lock.
func (h *shard) confirm(seq uint64) {
	for len(h.seen) > 0 && h.seen[0].Seq <= seq {
		g := h.seen[0]
		h.seen = h.seen[1:]
		h.forget(g)
		h.apply(g)
		endAll(h.pendingDrafts[g.Seq], nil)
		delete(h.pendingDrafts, g.Seq)
	}
}

// next returns an empty group that follows everything under way. At intervals the group has a witness: the newest acknowledged
// group of the next shard. Every group names the newest messages of CHECKPOINTS and SECRETS. The caller holds the lock.
func (h *shard) next(kind format.Kind) *format.Group {
	g := &format.Group{
		Kind: kind, Shard: h.n, Log: h.s.id, Seq: h.front.Seq + 1, Before: h.front.Hash,
		Events: h.front.Events, Aggregates: h.front.Aggregates, Witness: format.Witness{Shard: format.NoShard},
	}
	g.Writer.Node = h.s.node
	g.Beside.Checkpoints, g.Beside.Secrets = h.s.side.Ends()
	if now := time.Now(); now.Sub(h.named) > witnessEvery {
		g.Witness, h.named = h.witness(), now
	}
	return g
}

// wantsFence reports whether an empty group is sent if there are no drafts. The caller holds the lock.
func (h *shard) wantsFence() bool {
	return len(h.barriers) > 0 || h.renew && !h.quietNow() || h.leaves()
}

// quietNow reports whether an empty group has just been refused. The caller holds the lock.
func (h *shard) quietNow() bool { return time.Now().Before(h.quiet) }

// leaves reports whether the next group names another owner. The caller holds the lock.
func (h *shard) leaves() bool { return h.heir != "" && h.owner.Owns() && !h.quietNow() }

// gathers reports whether the drafts in the queue wait for others, which then share a group with them. The caller holds the lock.
func (h *shard) gathers() bool {
	if h.s.replicas == 1 || h.leaves() {
		return false
	}
	wait := h.pace.Wait(time.Now(), len(h.waiting))
	if wait > 0 && !h.gathering {
		h.gathering = true
		time.AfterFunc(wait, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.gathering = false
			h.sendNext()
		})
	}
	return wait > 0
}

// forget takes the group's aggregates out of pending.
func (h *shard) forget(g *format.Group) {
	for _, r := range g.Frames {
		if h.pending[r.Key]--; h.pending[r.Key] == 0 {
			delete(h.pending, r.Key)
		}
	}
}

// wantFence requests the acknowledgement of the group at seq: an empty group follows it, if no other group does.
func (h *shard) wantFence(seq uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.head.Seq >= seq || h.stopped != nil || h.s.closing.Load() {
		return
	}
	h.wanted = max(h.wanted, seq)
	h.sendNext()
}

// await returns nil when the group at seq is acknowledged.
func (h *shard) await(ctx context.Context, seq uint64) error {
	for {
		end, grown := h.end()
		if end.Seq >= seq {
			return nil
		}
		if err := h.healthy(); err != nil {
			return err
		}
		select {
		case <-grown:
		case <-h.s.gone:
			return fmt.Errorf("%w: the store was closed", fault.ErrUnhealthy)
		case <-h.s.sickened:
			return h.s.Healthy()
		case <-ctx.Done():
			return fmt.Errorf("eventstore: %s group %d is not acknowledged: %w", h.name(), seq, ctx.Err())
		}
	}
}

// CatchUp returns when this process has applied every group that was acknowledged before the call; at once for the sole writer, and for a
// context of WithStale. On replicas the shard's owner knows the end, or a barrier does; but a start and a read-only store, which cannot append,
// read up to the leader's end.
func (h *shard) CatchUp(ctx context.Context) error { return h.catchUp(ctx, format.Key{}) }

// catchUp is CatchUp for the events of one aggregate; the zero key stands for the whole shard.
func (h *shard) catchUp(ctx context.Context, key format.Key) error {
	if h.s.sole {
		return nil
	}
	if err := h.healthy(); err != nil || eventstore.Stale(ctx) {
		return err
	}
	if h.s.replicas > 1 && !h.s.readOnly && !h.s.starting.Load() {
		return h.askEnd(ctx, key)
	}
	return h.untilClosed(ctx, h.readToEnd)
}

// healthy returns nil while the shard accepts appends.
func (h *shard) healthy() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stopped
}

// markDamagedLocked marks the shard as damaged: it accepts no more appends. It returns the shard's first damage.
func (h *shard) markDamagedLocked(seq uint64, err error) error {
	if !errors.Is(err, fault.ErrUnhealthy) {
		err = fault.Damage(h.nameOf(seq), seq, err)
	}
	if h.stopped == nil {
		h.stopped = err
		h.refuseWaiting(err)
		h.s.noteDamagedShard(h.n, err)
	}
	return h.stopped
}

// markDamaged is markDamagedLocked for callers that do not hold the lock.
func (h *shard) markDamaged(seq uint64, err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.markDamagedLocked(seq, err)
}

// from returns the applied groups in memory from seq on; none if group seq is not there. It copies: Add clears the places of old groups.
func (h *shard) from(seq uint64) []*format.Group {
	h.mu.Lock()
	defer h.mu.Unlock()
	if seq > h.head.Seq {
		return nil
	}
	return slices.Clone(h.recent.From(seq))
}
