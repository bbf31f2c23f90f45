package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore"
	"payledger/eventstore/applied"
	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/ownership"
	"payledger/eventstore/streams"
)

// shard is one sequence of groups, as this process knows it. The log is the truth: head is its last
// acknowledged group, during a start the last one that was read. The tips are the fold of all
// groups up to head. Readers see no group past head.
type shard struct {
	s    *Store
	n    int
	kind *streams.Kind

	mu      sync.Mutex // guards the rest
	head    format.Head
	grown   chan struct{}               // closed and replaced whenever head grows
	newest  atomic.Pointer[format.Link] // head, for the witness of another shard: it needs no lock
	stopped error                       // the shard is damaged: it takes no appends

	tips         applied.Tips   // of the groups up to head, until the tip store has them; and their times
	recentGroups applied.Groups // the newest groups up to head, for readers
	beyond       beyond         // the groups beyond head
	queue        queue          // who waits for the next group
	need         need           // why an empty group is sent
	departure    departure      // when the next group leaves
	segments     segments       // the streams
	owner        ownership.State
	exchange     exchange // with other nodes
	witness      witness
}

// witness is the newest acknowledged group of another shard, which a group names at intervals.
type witness struct {
	newest func() format.Witness // it needs no lock; nil: no group is named
	named  time.Time             // when a group last had it
}

func newShard(s *Store, n int) *shard {
	h := &shard{
		s: s, n: n, kind: streams.KindOf(n), grown: make(chan struct{}), tips: applied.NewTips(streams.KindOf(n).Events, indexOf(n)), beyond: newBeyond(),
		exchange: exchange{handed: map[format.Hash]*entry{}, held: map[format.Hash]*entry{}},
	}
	h.newest.Store(&format.Link{})
	if s.node != "" {
		h.owner = ownership.New(s.node, s.clock)
	}
	return h
}

// tellNode sends an answer to another node. If it is lost, the node reads the group from the log,
// or sends its drafts again.
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

// tipInMemory is tip for the events in memory. The caller holds the lock.
func (h *shard) tipInMemory(key format.Key) *format.Recorded {
	if r, ok := h.s.recentEvents.Get(key); ok { // first: it may have the parts moved out of the state
		return r
	}
	return h.tips.Tip(key)
}

// apply applies an acknowledged group to the tips. The caller holds the lock, and has checked a
// group of another process.
func (h *shard) apply(g *format.Group) {
	h.head = g.After(h.head)
	h.noteOwner(g)
	h.s.secretWitness.Named(g.Ends.Secrets)
	h.newest.Store(&format.Link{Seq: g.Seq, Hash: g.Hash})
	for _, r := range g.Frames {
		r := r.Owned()
		h.s.recentEvents.Put(r.Key, r)
		h.tips.Apply(r)
		if r.Key == h.kind.Floor {
			h.noteFloor(r)
		}
	}
	h.recentGroups.Add(g)
	close(h.grown)
	h.grown = make(chan struct{})
	h.endHanded()
	if h.tips.Bytes() > h.s.dirtyLimit {
		due.Signal(h.s.flush)
	}
}

// observe takes the next group that was read from the log. It returns errBusy if the caller must
// read the group again later. Any other error means that the log is damaged.
func (h *shard) observe(g *format.Group) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.observeLocked(g)
}

// observeLocked is observe for callers that hold the lock.
func (h *shard) observeLocked(g *format.Group) error {
	switch {
	case h.beyond.busy() || g.Seq > h.beyond.front.Seq+1:
		return errBusy
	case g.Seq <= h.beyond.front.Seq:
		return nil
	}
	if err := h.check(g); err != nil {
		return h.markDamagedLocked(g.Seq, err)
	}
	h.accept(g)
	return nil
}

// accept takes the next group, which was read and checked: in a cluster a group of another process;
// with an embedded server a group of this process whose outcome stayed unknown, for which the next
// acknowledgement counts. The caller holds the lock.
func (h *shard) accept(g *format.Group) {
	h.beyond.saw(g)
	if g.Seq > h.segments.atStart { // the server counted the groups before
		h.segments.Grow(g.Stored + messageOverhead)
	}
	if !h.s.sole { // a reader sees only groups that a quorum has committed
		h.settleHanded(g)
		h.apply(g)
		h.rollAfter(g)
		h.sendNext()
		return
	}
	h.beyond.addRead(g)
	h.rollAfter(g)
	h.need.through = max(h.need.through, g.Seq)
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

// CatchUp returns when this process has applied every group that was acknowledged before the call;
// at once for the sole writer, and for a context of Reading(ctx, Applied). In a cluster the shard's
// owner knows the end, or a group does; but a start and a read-only store, which cannot append,
// read up to the leader's end. So does a reader of the checkpoints: an old one contradicts no newer
// one, and a witness who asks for the newest each second shall append nothing.
func (h *shard) CatchUp(ctx context.Context) error { return h.catchUp(ctx, format.Key{}) }

// catchUp is CatchUp for the events of one aggregate; the zero key stands for the whole shard.
func (h *shard) catchUp(ctx context.Context, key format.Key) error {
	if h.s.sole {
		return nil
	}
	if err := h.healthy(); err != nil || eventstore.Demands(ctx, eventstore.Applied) {
		return err
	}
	if !h.s.readOnly && !h.s.starting.Load() && !h.kind.Covers {
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

// markDamagedLocked marks the shard as damaged: it accepts no more appends. It returns the shard's
// first damage.
func (h *shard) markDamagedLocked(seq uint64, err error) error {
	if !errors.Is(err, fault.ErrUnhealthy) {
		err = fault.Damage(h.nameOf(seq), seq, err)
	}
	if h.stopped == nil {
		h.stopped = err
		close(h.grown) // those who wait for a group look again
		h.grown = make(chan struct{})
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

// from returns the applied groups in memory from seq on; none if group seq is not there. It copies:
// Add clears the places of old groups.
func (h *shard) from(seq uint64) []*format.Group {
	h.mu.Lock()
	defer h.mu.Unlock()
	if seq > h.head.Seq {
		return nil
	}
	return slices.Clone(h.recentGroups.From(seq))
}

// Near implements eventstore.Events.
func (s *Store) Near(ctx context.Context, shard int, through uint64, w eventstore.Window) ([]format.Stretch, error) {
	h := s.shard[shard]
	end, err := h.reach(ctx, through)
	if err != nil {
		return nil, err
	}
	if end < through {
		return nil, fmt.Errorf("%w: shard %d ends at group %d, before group %d", fault.ErrUnhealthy, h.n, end, through)
	}
	from, to := int64(math.MinInt64), int64(math.MaxInt64)
	if !w.From.IsZero() {
		from = w.From.UnixMicro()
	}
	if !w.To.IsZero() {
		to = w.To.UnixMicro()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tips.Near(through, from, to), nil
}
