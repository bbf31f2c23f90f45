package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/handover"
	"payledger/eventstore/ownership"
)

const (
	maxHeld      = 4096    // drafts of other nodes that a shard takes
	maxFrameText = 8 << 10 // bytes of the text of such a draft's frame
	balanceEvery = time.Second
	maxEchoes    = 3  // without an answer: then this node hears nobody
	ownerGroups  = 64 // of visitors at the end of a shard, before which a start looks for the owner's newest group
)

// membership is what a store knows of itself among the nodes of a cluster.
type membership struct {
	node     string // the name of this process; "" with an embedded server, and for a process that only reads
	clock    func() ownership.Reading
	majority bool                  // reads rest on no lease
	nodes    atomic.Pointer[Nodes] // nil: unknown
	share    ownership.Share
	leaving  atomic.Bool
	echo     *nats.Subscription
	echoes   atomic.Int32 // messages to itself without an answer
}

// origin is the request of another node that has a draft or a reader.
type origin struct {
	h       *shard
	reply   string
	barrier uint64
	relay   bool // this node hands it on to the owner, which the other one does not reach
}

// admit lets a reader wait: for the end of the group in flight that may hold what it reads, or for
// the next group; or it ends the reader, because this node is the owner and has its lease. The
// caller holds the lock, and calls sendNext afterwards.
func (h *shard) admit(b *entry) {
	switch {
	case b.group || h.s.majority || !h.owner.Owns():
		h.queue.readers = append(h.queue.readers, b)
	case h.underWay(b.keys):
		h.exchange.reading = append(h.exchange.reading, b)
	case h.owner.Holds(): // after the look at the groups in flight
		h.renewSoon()
		h.serve(b)
	default:
		h.queue.readers = append(h.queue.readers, b)
	}
}

// readable reports whether this node is the owner, has its lease, and has no group in flight that
// may hold an aggregate: then its tip is the newest one. The zero key stands for the whole shard.
// The caller holds the lock.
func (h *shard) readable(key format.Key) bool {
	if h.s.majority || !h.owner.Owns() || h.beyond.holds(key) || key == (format.Key{}) && h.beyond.busy() || !h.owner.Holds() {
		return false
	}
	h.renewSoon()
	return true
}

// underWay reports whether a group in flight may hold an event of one of the aggregates; none: of
// the shard. The caller holds the lock.
func (h *shard) underWay(keys []format.Key) bool {
	if keys == nil {
		return h.beyond.busy()
	}
	return slices.ContainsFunc(keys, func(key format.Key) bool { return h.beyond.holds(key) })
}

// renewSoon lets an empty group renew a lease that has run for half its time, unless another group
// does. The caller holds the lock, and calls sendNext afterwards.
func (h *shard) renewSoon() {
	h.need.lease = h.need.lease || !h.beyond.busy() && h.owner.Aging() && h.s.sick.Load() == nil
}

// serve ends a reader: this node has applied every event that it may not miss. The caller holds the
// lock.
func (h *shard) serve(b *entry) {
	if b.origin != nil {
		h.s.tellNode(handover.Stored(b.origin.reply, h.head.Seq, b.origin.barrier))
	}
	b.end(nil)
}

// readAgain admits the readers that waited for the group in flight again. The caller holds the
// lock.
func (h *shard) readAgain() {
	reading := h.exchange.reading
	h.exchange.reading = nil
	for _, b := range reading {
		h.admit(b)
	}
}

// noteOwner notes the writer of a group that is being applied. The caller holds the lock.
func (h *shard) noteOwner(g *format.Group) {
	before, w := h.owner.Target(), g.Writer
	if h.owner.Owns() {
		before = h.s.node
	}
	w.Visitor = isVisit(g)
	h.owner.Saw(g.Seq, w)
	if !h.owner.Owns() {
		h.need.heir, h.need.lease = "", h.owner.Named() // the first group of this node makes it the owner
		h.segments.ready = 0                            // when it owns the shard again, other servers may be gone
	}
	switch after := h.owner.Target(); {
	case h.s.starting.Load(): // it was long ago
	case g.Writer.Next != "": // it wants fewer shards, or none
		h.s.share.Shun(g.Writer.Node)
	case before != "" && before != after && before != w.Node && !w.Visitor: // taken over: it did not come, or was gone
		h.s.share.Shun(before)
		h.s.log.Info().Int("shard", h.n).Str("owner", g.Writer.Node).Str("before", before).Msg("the shard was taken over")
	}
	if before != h.owner.Target() {
		h.takeBack(func(e *entry) bool { return e.away == before || h.exchange.relay.Is(e.away) })
		h.exchange.relay.End()
	}
}

func (h *shard) takeRequest(r handover.Request, reply string) {
	from := &origin{h: h, reply: reply, barrier: r.Barrier, relay: r.Relay}
	unable := h.s.writable(h)
	h.mu.Lock()
	defer h.mu.Unlock()
	if unable == nil && !h.owner.MayAppend() && (!r.Relay || h.owner.Target() == r.From) {
		unable = errElsewhere
		h.awaitGroup(r.Head, 0) // the other node has seen that this one is the next owner
	}
	for _, d := range r.Drafts {
		if h.exchange.held[d.Hash] != nil || h.exchange.handed[d.Hash] != nil {
			continue // it came before, or it is this node's own: another node hands it on
		}
		e := &entry{r: d, began: time.Now(), origin: from}
		h.exchange.held[d.Hash] = e
		if err := cmp.Or(unable, h.acceptable(d)); err != nil {
			e.end(err)
			continue
		}
		h.enqueue(e)
	}
	if b := (&entry{began: time.Now(), origin: from, keys: r.Keys, group: r.Group}); r.Barrier > 0 && unable != nil {
		b.end(unable)
	} else if r.Barrier > 0 {
		h.admit(b)
	}
	if unable == nil && r.Close == h.segments.Open().Number {
		h.segments.closeAt = r.Close
	}
	h.sendNext()
}

// ended answers a draft or a reader of another node that ended: makeGroup, which follows, tells the
// node about refusals. answerOrigins and serve report successes, but for those of the owner that
// this node asked. The caller holds the lock.
func (o *origin) ended(d *entry) {
	if d.r != nil {
		delete(o.h.exchange.held, d.r.Hash)
	}
	why, barrier := handover.Elsewhere, o.barrier
	if errors.Is(d.err, fault.ErrConflict) {
		why = handover.Conflict
	}
	if d.r != nil {
		barrier = 0
	}
	switch {
	case d.err != nil:
		o.h.exchange.refusals.Add(o.reply, why, o.barrier, d.r)
	case o.relay:
		o.h.s.tellNode(handover.Stored(o.reply, o.h.head.Seq, barrier))
	}
}

// answerOrigins reports an acknowledged group to the nodes whose drafts it has, and to those whose
// readers waited for it. The caller holds the lock.
func (h *shard) answerOrigins(f *flight) {
	told := map[string]bool{}
	for _, b := range f.readers {
		if b.origin != nil {
			told[b.origin.reply] = true
			h.s.tellNode(handover.Stored(b.origin.reply, f.g.Seq, b.origin.barrier))
		}
	}
	for _, d := range f.drafts {
		if d.origin != nil && !told[d.origin.reply] {
			told[d.origin.reply] = true
			h.s.tellNode(handover.Stored(d.origin.reply, f.g.Seq, 0))
		}
	}
}

// openHandover subscribes to the messages of other nodes and of back-ups, and finds out who owns
// the shards.
func (s *Store) openHandover(ctx context.Context) error {
	if s.node == "" {
		return nil
	}
	for subject, take := range map[string]nats.MsgHandler{
		handover.HoldSubject: s.hold.Handler(s.log, s.checkpoints.Hurry, s.sendAll),
		handover.DraftsSubject(s.node): func(m *nats.Msg) {
			r, err := handover.ParseRequest(m)
			s.inShard(r.Shard, err, func(h *shard) { h.takeRequest(r, m.Reply) })
		},
		handover.AnswersSubject(s.node): func(m *nats.Msg) {
			a, err := handover.ParseAnswer(m)
			s.inShard(a.Shard, err, func(h *shard) { h.takeAnswer(a) })
		},
	} {
		if _, err := s.nc.Subscribe(subject, take); err != nil {
			return err
		}
	}
	var err error
	if s.echo, err = s.nc.Subscribe(handover.EchoSubject(s.node), func(*nats.Msg) { s.echoes.Store(0) }); err != nil {
		return err
	}
	for _, h := range s.all() {
		if err := h.findOwner(ctx); err != nil {
			return err
		}
	}
	s.loops.Go(s.shareShards)
	return nil
}

// findOwner looks for the owner's newest group before the visitors' groups at the end of the shard.
// Without one the owner stays unknown for a while.
func (h *shard) findOwner(ctx context.Context) error {
	h.mu.Lock()
	end, first, known := h.head.Seq, h.segments.Oldest().First, h.owner.Known()
	if end == 0 {
		h.owner.Empty()
	}
	h.mu.Unlock()
	for seq := end; !known && seq >= first && seq+ownerGroups > end; seq-- {
		g, err := h.mustRead(ctx, seq)
		if errors.Is(err, fault.ErrDropped) {
			return nil
		}
		if err != nil {
			return err
		}
		h.mu.Lock()
		switch {
		case !isVisit(g):
			h.owner.Found(g.Writer)
		case seq == 1:
			h.owner.Empty()
		}
		known = h.owner.Known()
		h.mu.Unlock()
	}
	return nil
}

// shareShards hands shards over to nodes that own fewer, one after the other, and all shards if
// this node hears nobody.
func (s *Store) shareShards() {
	tick := time.NewTicker(balanceEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.gone:
			return
		case <-tick.C:
		}
		_, guests := s.serving()
		guest := slices.Contains(guests, s.node) && !slices.Contains(s.sharers(), s.node)
		owned := s.owned()
		if len(owned) == 0 || !s.nc.IsConnected() {
			s.echoes.Store(0)
			continue
		}
		deaf := s.echoes.Add(1) > maxEchoes
		if deaf {
			s.log.Warn().Msg("this node hears no message of itself: other nodes append to its shards")
		}
		if deaf || s.leaving.Load() || s.sick.Load() != nil || guest {
			s.handTo(owned, s.heir)
			continue
		}
		_ = s.nc.Publish(handover.EchoSubject(s.node), nil) // without a connection this node appends nothing
		if next := s.share.Surplus(s.node, s.sharers(), s.owners()); next != "" {
			s.handTo(owned[len(owned)-1:], func(*shard) string { return next })
		}
	}
}

func (s *Store) owned() (owned []*shard) {
	for _, h := range s.all() {
		h.mu.Lock()
		if h.owner.Owns() && h.stopped == nil {
			owned = append(owned, h)
		}
		h.mu.Unlock()
	}
	return owned
}

// owners returns the owner of each shard, or the node that it is being handed to; "" if it has
// none.
func (s *Store) owners() (owners []string) {
	for _, h := range s.all() {
		h.mu.Lock()
		owner := cmp.Or(h.need.heir, h.owner.Target())
		if owner == "" && h.owner.Owns() {
			owner = s.node
		}
		h.mu.Unlock()
		owners = append(owners, owner)
	}
	return owners
}

// heir returns the node that gets a shard that this node does not keep.
func (s *Store) heir(h *shard) string {
	h.mu.Lock()
	giver := h.owner.Giver()
	h.mu.Unlock()
	return s.share.Heir(s.node, s.sharers(), s.owners(), giver)
}

// serving returns the nodes that serve, and those of them that keep no shard while another one
// serves.
func (s *Store) serving() (all, guests []string) {
	if known := s.nodes.Load(); known != nil {
		return (*known).Sharing()
	}
	return nil, nil
}

// sharers returns the nodes that share the shards.
func (s *Store) sharers() []string { return ownership.Owners(s.serving()) }

// handTo lets the next group of each shard name the next owner.
func (s *Store) handTo(shards []*shard, next func(*shard) string) {
	for _, h := range shards {
		to := next(h)
		h.mu.Lock()
		if h.owner.Owns() {
			h.need.heir = to // it counts as that node's from now on
			h.sendNext()
		}
		h.mu.Unlock()
	}
}

// Leave hands all shards of this node over to others, and returns when the log names them. This
// node can still append and read.
func (s *Store) Leave(ctx context.Context) error {
	if s.node == "" {
		return nil
	}
	s.leaving.Store(true)
	for {
		owned := s.owned()
		if len(owned) == 0 {
			return nil
		}
		s.handTo(owned, s.heir)
		if err := due.Rest(ctx, resolvePause, nil); err != nil {
			return fmt.Errorf("eventstore: %d shards were not handed over: %w", len(owned), err)
		}
	}
}
