package eventstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/cache"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
)

const pageGroups = 64 // how many groups one request reads

// groupPlace is a group in the cache. ahead: it was read for its Before only, and nothing named its own hash.
type groupPlace struct {
	shard int
	seq   uint64
	ahead bool
}

// DefaultMemory is the size of a store's caches, in bytes.
const DefaultMemory = 256 << 20

// newGroups returns a cache of groups that were read, for readers that walk through several of their events.
func newGroups(capacity int) *cache.Cache[groupPlace, *format.Group] {
	return cache.New[groupPlace](capacity, func(g *format.Group) int { return g.Size + format.RecordedSize*(1+len(g.Frames)) }, nil)
}

// Group returns the acknowledged group at a sequence, from memory or from the log. An unreadable group is damage, and a group without the
// hash that the group after it names.
func (h *shard) Group(ctx context.Context, seq uint64) (*format.Group, error) {
	if gs := h.from(seq); len(gs) > 0 {
		return gs[0], nil
	}
	if g, ok := h.s.groups.Get(groupPlace{h.n, seq, false}); ok {
		return g, nil
	}
	var next *format.Group
	var nextErr error
	var ahead sync.WaitGroup
	expected := h.expected(seq)
	if expected.by == nextGroup { // both at the same time
		ahead.Go(func() { next, nextErr = h.readAhead(ctx, seq+1) })
	}
	g, err := h.readAhead(ctx, seq)
	ahead.Wait()
	switch {
	case err != nil || expected.by == nobody:
		return g, err
	case nextErr != nil: // then nothing shows that the group is the right one
		return nil, nextErr
	case next != nil:
		expected.hash = next.Before
	}
	if g.Hash != expected.hash {
		return nil, h.exchanged(g)
	}
	h.s.groups.Put(groupPlace{h.n, seq, false}, g)
	return g, nil
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
	inMemory               // the hash is in memory: of the end of the shard, or in a group after it
	nextGroup              // the group after it must be read
)

// expected returns the hash of the group at a sequence, as far as memory has it.
func (h *shard) expected(seq uint64) expected {
	h.mu.Lock()
	head, next := h.head, (*format.Group)(nil)
	if len(h.recent) > 0 && h.recent[0].Seq <= seq+1 && seq < head.Seq {
		next = h.recent[seq+1-h.recent[0].Seq]
	}
	h.mu.Unlock()
	switch {
	case seq > head.Seq:
		return expected{by: nobody}
	case seq == head.Seq:
		return expected{head.Hash, inMemory}
	case next == nil:
		if next, _ = h.s.groups.Get(groupPlace{h.n, seq + 1, false}); next == nil {
			next, _ = h.s.groups.Get(groupPlace{h.n, seq + 1, true})
		}
	}
	if next == nil {
		return expected{by: nextGroup}
	}
	return expected{next.Before, inMemory}
}

// unconfirmed is Group without the check that the group has the hash that the group after it names: the caller checks its event.
func (h *shard) unconfirmed(ctx context.Context, seq uint64) (*format.Group, error) {
	if gs := h.from(seq); len(gs) > 0 {
		return gs[0], nil
	}
	if g, ok := h.s.groups.Get(groupPlace{h.n, seq, false}); ok {
		return g, nil
	}
	return h.readAhead(ctx, seq)
}

// readAhead returns a group whose hash nothing has named yet.
func (h *shard) readAhead(ctx context.Context, seq uint64) (*format.Group, error) {
	place := groupPlace{h.n, seq, true}
	if g, ok := h.s.groups.Get(place); ok {
		return g, nil
	}
	g, err := h.mustRead(ctx, seq)
	if err == nil {
		h.s.groups.Put(place, g)
	}
	return g, err
}

// mustRead reads a group that the log must hold.
func (h *shard) mustRead(ctx context.Context, seq uint64) (*format.Group, error) {
	var since time.Time
	for {
		g, err := h.groupDirect(ctx, seq)
		if err != nil && h.s.replicas > 1 { // a replica may be gone, or behind
			g, err = h.groupAtLeader(ctx, seq)
		}
		missing := errors.Is(err, ErrNotFound) || errors.Is(err, format.ErrGroup) || errors.Is(err, format.ErrFrame)
		switch {
		case err == nil:
			return g, nil
		case !missing:
			return nil, err
		case since.IsZero():
			since = time.Now()
		}
		if h.s.replicas == 1 || time.Since(since) > jetapi.StaleLeader {
			switch dropped, lookErr := h.droppedByNow(ctx, seq); {
			case dropped:
				return nil, deliverylog.ErrDropped
			case lookErr != nil:
				return nil, lookErr
			}
			if errors.Is(err, ErrNotFound) {
				err = errors.New("the message is missing")
			}
			return nil, h.markDamaged(seq, err)
		}
		if err := jetapi.Pause(ctx, recheckPause); err != nil {
			return nil, err
		}
	}
}

// reader returns the connection for look-ups in the shard. Deliveries and secrets have the two after those of the log's shards.
func (h *shard) reader() int { return min(h.n, h.s.shards) }

func (h *shard) groupDirect(ctx context.Context, seq uint64) (*format.Group, error) {
	seg, ok := h.segmentOf(seq)
	if !ok {
		return nil, ErrNotFound
	}
	data, err := h.s.api.Direct(ctx, h.reader(), seg.name(h.n), seq)
	if err != nil {
		return nil, err
	}
	return h.parse(seq, data)
}

func (h *shard) parse(seq uint64, data []byte) (*format.Group, error) {
	g, err := format.ParseGroup(data)
	if err == nil && (g.Seq != seq || g.Shard != h.n || g.Log != h.s.id) {
		err = fmt.Errorf("%w: it is group %d of shard %d", format.ErrGroup, g.Seq, g.Shard)
	}
	return g, err
}

func (h *shard) groupAtLeader(ctx context.Context, seq uint64) (*format.Group, error) {
	seg, ok := h.segmentOf(seq)
	if !ok {
		return nil, ErrNotFound
	}
	m, err := h.s.api.AtLeader(ctx, seg.name(h.n), jetapi.Get{Seq: seq})
	if err != nil {
		return nil, err
	}
	return h.parse(seq, m.Data)
}

// lastAtLeader returns the sequence of the last group of the shard, by the leader of the open segment. If that group closes its
// segment, lastAtLeader continues in the next one, which another process may have made.
func (h *shard) lastAtLeader(ctx context.Context) (uint64, error) {
	for {
		h.mu.Lock()
		seg := h.open()
		h.mu.Unlock()
		m, err := h.s.api.AtLeader(ctx, seg.name(h.n), jetapi.Get{LastBySubject: seg.subject(h.n)})
		if errors.Is(err, ErrNotFound) {
			return seg.first - 1, nil
		}
		if err != nil {
			return 0, err
		}
		g, err := h.parse(m.Seq, m.Data)
		if err != nil {
			return 0, h.markDamaged(m.Seq, err)
		}
		if g.Kind != format.KindClosing {
			return m.Seq, nil
		}
		if err := h.makeSuccessor(ctx, g); err != nil {
			return 0, err
		}
	}
}

// readGroups calls handle with the groups from..through, in order. The log must hold all of them, and each must have the hash that the
// group after it names: a group that was exchanged, with right hashes of its own, is damage, and is not handed over. For the last group
// readGroups reads one group more, if memory does not have the hash.
func (h *shard) readGroups(ctx context.Context, from, through uint64, handle func(*format.Group) error) error {
	if from > through {
		return nil
	}
	last, expected := through, h.expected(through)
	if expected.by == nextGroup {
		last++
	}
	held, _ := h.s.groups.Get(groupPlace{h.n, from, true}) // the end of an earlier read
	if held != nil {
		from++
	}
	for from <= last {
		page, err := h.page(ctx, from, min(last-from+1, pageGroups))
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(page) == 0 { // a fault of the connection, or damage: mustRead finds out which
			g, err := h.mustRead(ctx, from)
			if err != nil {
				return err
			}
			page = append(page, g)
		}
		for _, g := range page {
			if held != nil {
				if held.Hash != g.Before {
					return h.exchanged(held)
				}
				if err := handle(held); err != nil {
					return err
				}
			}
			held = g
			from++
		}
	}
	switch {
	case held.Seq > through:
		h.s.groups.Put(groupPlace{h.n, held.Seq, true}, held)
		return nil
	case expected.by != nobody && held.Hash != expected.hash:
		return h.exchanged(held)
	}
	return handle(held)
}

func (h *shard) exchanged(g *format.Group) error {
	return h.markDamaged(g.Seq, errors.New("the log names another group at this place: this group or the one after it was exchanged"))
}

// page reads up to n consecutive groups of one segment from seq on, from one server.
func (h *shard) page(ctx context.Context, seq, n uint64) (page []*format.Group, err error) {
	seg, ok := h.segmentOf(seq)
	if !ok {
		return nil, ErrNotFound
	}
	if seg.last > 0 {
		n = min(n, seg.last-seq+1)
	}
	if n == 1 {
		g, err := h.groupDirect(ctx, seq)
		if err != nil {
			return nil, err
		}
		return []*format.Group{g}, nil
	}
	_, err = h.s.api.Page(ctx, h.reader(), seg.name(h.n), seg.subject(h.n), seq, n, func(at uint64, m *nats.Msg) (bool, error) {
		if at != seq+uint64(len(page)) {
			return false, ErrNotFound
		}
		g, err := h.parse(at, m.Data)
		if err == nil {
			page = append(page, g)
		}
		return uint64(len(page)) < n, err
	})
	return page, err
}

// storedGroups is Groups for readers that visit old groups, too. A single group stays cached.
func (s *Store) storedGroups(ctx context.Context, shard int, from, through uint64, each func(*format.Group) error) error {
	if from > through {
		return nil
	}
	if gs := s.shard[shard].from(from); uint64(len(gs)) > through-from { // all of them were applied, and are in memory
		for _, g := range gs[:through-from+1] {
			if err := each(g); err != nil {
				return err
			}
		}
		return nil
	}
	if from != through {
		return s.shard[shard].readGroups(ctx, from, through, each)
	}
	g, err := s.shard[shard].Group(ctx, from)
	if err != nil {
		return err
	}
	return each(g)
}

// Groups calls each with the groups of a shard from one sequence through another, both included, in order. A checkpoint must cover
// the last group.
func (s *Store) Groups(ctx context.Context, shard int, from, through uint64, each func(*format.Group) error) error {
	h := s.shard[shard]
	end, err := h.reach(ctx, through)
	if err != nil {
		return err
	}
	if end < through {
		return fmt.Errorf("%w: a checkpoint covers group %d of shard %d, which ends at %d", ErrUnhealthy, through, h.n, end)
	}
	for from <= through {
		from, err = h.Groups(ctx, from, through, func(g *format.Group) error {
			if g.Seq > through { // it was in memory behind the others
				return nil
			}
			return each(g)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reach returns the end of the shard. If it is before seq, reach looks for groups that another node appended.
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
