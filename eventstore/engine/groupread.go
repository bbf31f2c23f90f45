package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/eventstore/cache"
	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
)

const pageGroups = 64 // how many groups one request reads

// groupPlace is the place of a group in the cache.
type groupPlace struct {
	shard int
	seq   uint64
}

// cachedGroup is a group that was read. named: the group after it names its hash; else it may have
// been read for its Before only.
type cachedGroup struct {
	*format.Group
	named bool
}

// newGroups returns a cache of groups that were read, for readers that walk through several of
// their events.
func newGroups(capacity int) *cache.Cache[groupPlace, cachedGroup] {
	return cache.New[groupPlace](capacity, cachedSize, func(a, b cachedGroup) bool { return !a.named && b.named })
}

func cachedSize(g cachedGroup) int { return g.Size + format.RecordedSize*(1+len(g.Frames)) }

func (h *shard) cached(seq uint64) cachedGroup {
	g, _ := h.s.groups.Get(groupPlace{h.n, seq})
	return g
}

func (h *shard) cache(g *format.Group, named bool) {
	h.s.groups.Put(groupPlace{h.n, g.Seq}, cachedGroup{g, named})
}

// Group returns the acknowledged group at a sequence, from memory or from the log. An unreadable
// group is damage, and a group without the hash that the group after it names.
func (h *shard) Group(ctx context.Context, seq uint64) (g *format.Group, err error) {
	if gs := h.from(seq); len(gs) > 0 {
		return gs[0], nil
	}
	err = h.readGroups(ctx, seq, seq, func(read *format.Group) error { g = read; return nil })
	return g, err
}

// expected is the hash that a group must have.
type expected struct {
	hash format.Hash
	by   namer
}

// namer is who names the hash of a group.
type namer int

const (
	nobody    namer = iota // the group is not known to be acknowledged, and has no later one
	inMemory               // the group or the one after it was applied
	inCache                // the group after it was read before
	nextGroup              // the group after it must be read
)

// expected returns the hash of the group at a sequence, as far as memory has it.
func (h *shard) expected(seq uint64) expected {
	h.mu.Lock()
	head, next := h.head, (*format.Group)(nil)
	if after := h.recentGroups.From(seq + 1); len(after) > 0 && seq < head.Seq {
		next = after[0]
	}
	h.mu.Unlock()
	switch {
	case seq > head.Seq:
		return expected{by: nobody}
	case seq == head.Seq:
		return expected{head.Hash, inMemory}
	case next != nil:
		return expected{next.Before, inMemory}
	}
	if next = h.cached(seq + 1).Group; next == nil {
		return expected{by: nextGroup}
	}
	return expected{next.Before, inCache}
}

// groupUnnamed is Group without the check that the group has the hash that the group after it
// names: the caller checks its event. In a cluster it has the check, because the leader may have
// another group than the replica that answered.
func (h *shard) groupUnnamed(ctx context.Context, seq uint64) (*format.Group, error) {
	if !h.s.sole {
		return h.Group(ctx, seq)
	}
	if gs := h.from(seq); len(gs) > 0 {
		return gs[0], nil
	}
	if g := h.cached(seq); g.Group != nil {
		return g.Group, nil
	}
	g, err := h.mustRead(ctx, seq)
	if err == nil {
		h.cache(g, false)
	}
	return g, err
}

// mustRead reads a group that the log must hold.
func (h *shard) mustRead(ctx context.Context, seq uint64) (*format.Group, error) {
	return h.untilRead(ctx, seq, func() (*format.Group, error) {
		g, err := h.groupDirect(ctx, seq)
		if err != nil && !h.s.sole { // a replica may be gone, or behind
			g, err = h.groupAtLeader(ctx, seq)
		}
		return g, err
	})
}

// mustReadAtLeader is mustRead, and no replica answers.
func (h *shard) mustReadAtLeader(ctx context.Context, seq uint64) (*format.Group, error) {
	return h.untilRead(ctx, seq, func() (*format.Group, error) { return h.groupAtLeader(ctx, seq) })
}

func (h *shard) untilRead(ctx context.Context, seq uint64, read func() (*format.Group, error)) (*format.Group, error) {
	var since time.Time
	for {
		g, err := read()
		missing := errors.Is(err, fault.ErrNotFound) || errors.Is(err, format.ErrGroup) || errors.Is(err, format.ErrFrame)
		switch {
		case err == nil:
			return g, nil
		case !missing:
			return nil, err
		case since.IsZero():
			since = time.Now()
		}
		if _, there := h.segmentOf(seq); h.s.sole || !there || time.Since(since) > jetapi.StaleLeader {
			switch dropped, lookErr := h.droppedByNow(ctx, seq); {
			case dropped:
				return nil, fault.ErrDropped
			case lookErr != nil:
				return nil, lookErr
			}
			if errors.Is(err, fault.ErrNotFound) {
				err = errors.New("the message is missing")
			}
			return nil, h.markDamaged(seq, err)
		}
		if err := due.Rest(ctx, recheckPause, nil); err != nil {
			return nil, err
		}
	}
}

// readGroups calls handle with the groups from..through, in order. The log must hold all of them,
// and each must have the hash that the group after it names: a group that was exchanged, with right
// hashes of its own, is damage, and is not handed over. For the last group readGroups reads one
// group more, if memory does not have the hash. If the last group may have none after it, the
// leader's is taken. A group that was read alone stays cached.
func (h *shard) readGroups(ctx context.Context, from, through uint64, handle func(*format.Group) error) error {
	if from > through {
		return nil
	}
	alone, kept := from == through, h.cached(from) // perhaps the end of an earlier read
	if alone && kept.named {
		return handle(kept.Group)
	}
	last, end := through, h.expected(through)
	if end.by == nextGroup {
		last++
	}
	ofLeader := end.by == nobody && !h.s.sole
	var before *format.Group // was handed over last
	give := func(g *format.Group) error {
		if before != nil && g.Before != before.Hash { // a replica has exchanged groups in a row, and g is the leader's
			return h.notNamed(before.Seq)
		}
		before = g
		if alone && end.by != nobody {
			h.cache(g, true)
		}
		return handle(g)
	}
	held := kept.Group
	if ofLeader && alone {
		held = nil
	}
	if held != nil {
		from++
	}
	for from <= last {
		page, err := h.nextGroups(ctx, from, last, ofLeader)
		if err != nil {
			return err
		}
		for _, g := range page {
			if held != nil && held.Hash != g.Before {
				right, err := h.exchanged(ctx, held.Seq, expected{by: nextGroup})
				if err != nil {
					return err
				}
				held, g = right.group, right.next
			}
			if held != nil {
				if err := give(held); err != nil {
					return err
				}
			}
			held = g
			from++
		}
	}
	if held.Seq > through {
		h.cache(held, false)
		return nil
	}
	if end.by != nobody && held.Hash != end.hash {
		right, err := h.exchanged(ctx, held.Seq, end)
		if err != nil {
			return err
		}
		held = right.group
	}
	return give(held)
}

// nextGroups reads at least one of the groups from..last, in order. With ofLeader the last one is
// the leader's.
func (h *shard) nextGroups(ctx context.Context, from, last uint64, ofLeader bool) ([]*format.Group, error) {
	n := last - from + 1
	if ofLeader {
		n--
	}
	if n > 0 {
		page, err := h.page(ctx, from, min(n, pageGroups))
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case len(page) > 0:
			return page, nil
		}
	}
	read := h.mustRead // a fault of the connection, or damage: mustRead finds out which
	if n == 0 {
		read = h.mustReadAtLeader
	}
	g, err := read(ctx, from)
	return []*format.Group{g}, err
}

// leaders are a group, and the group after it unless memory has its hash, as the leader has them.
type leaders struct{ group, next *format.Group }

// exchanged returns the leader's groups at a sequence. The caller has read a group there without
// the expected hash. On an embedded server that is damage, and if the leader's groups do not fit
// either: else another replica differs from the leader.
func (h *shard) exchanged(ctx context.Context, seq uint64, expected expected) (right leaders, err error) {
	if h.s.sole {
		return leaders{}, h.notNamed(seq)
	}
	if right.group, err = h.mustReadAtLeader(ctx, seq); err != nil {
		return leaders{}, err
	}
	if expected.by != inMemory {
		if right.next, err = h.mustReadAtLeader(ctx, seq+1); err != nil {
			return leaders{}, err
		}
		expected.hash = right.next.Before
		h.cache(right.next, false)
	}
	if right.group.Hash != expected.hash {
		return leaders{}, h.notNamed(seq)
	}
	h.cache(right.group, true)
	h.s.log.Warn().Int("shard", h.n).Uint64("seq", seq).Msg("a replica has another group here or after it than the leader, which has the right one: verify the folders of the NATS servers")
	return right, nil
}

func (h *shard) notNamed(seq uint64) error {
	return h.markDamaged(seq, errors.New("the log names another group at this place: this group or the one after it was exchanged"))
}

// Groups implements eventstore.Events.
func (s *Store) Groups(ctx context.Context, shard int, from, through uint64, handle func(*format.Group) error) error {
	h := s.shard[shard]
	end, err := h.reach(ctx, through)
	if err != nil {
		return err
	}
	if end < through {
		return fmt.Errorf("%w: a checkpoint covers group %d of shard %d, which ends at %d", fault.ErrUnhealthy, through, h.n, end)
	}
	for from <= through {
		from, err = h.Groups(ctx, from, through, func(g *format.Group) error {
			if g.Seq > through { // it was in memory, after the others
				return nil
			}
			return handle(g)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reach returns the end of the shard. If it is before seq, reach looks for groups that another node
// appended.
func (h *shard) reach(ctx context.Context, seq uint64) (uint64, error) {
	end, _ := h.end()
	if end.Seq < seq {
		if err := h.CatchUp(ctx); err != nil {
			return 0, err
		}
		end, _ = h.end()
	}
	return end.Seq, nil
}

// tellRefusals sends the refusals since the last call to the nodes whose drafts and readers they
// are. The caller holds the lock.
func (h *shard) tellRefusals() {
	for _, m := range h.exchange.refusals.Take(h.head.Seq) {
		h.s.tellNode(m)
	}
}
