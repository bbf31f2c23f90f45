package eventstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/cache"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
)

const pageGroups = 64 // how many groups one request reads

type groupPlace struct {
	shard int
	seq   uint64
}

// DefaultMemory is the size of a store's caches, in bytes.
const DefaultMemory = 256 << 20

// newGroups returns a cache of groups that were read, for readers that walk through several of their events.
func newGroups(capacity int) *cache.Cache[groupPlace, *format.Group] {
	return cache.New[groupPlace](capacity, func(g *format.Group) int { return g.Size + format.RecordedSize*(1+len(g.Frames)) }, nil)
}

// Group returns the acknowledged group at a sequence, from memory or from the log. An unreadable group is damage.
func (h *shard) Group(ctx context.Context, seq uint64) (*format.Group, error) {
	if gs := h.from(seq); len(gs) > 0 {
		return gs[0], nil
	}
	if g, ok := h.s.groups.Get(groupPlace{h.n, seq}); ok {
		return g, nil
	}
	g, err := h.mustRead(ctx, seq)
	if err == nil {
		h.s.groups.Put(groupPlace{h.n, seq}, g)
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

// readGroups calls handle with the groups from..through, in order. The log must hold all of them, and each must name the hash of the one
// before it: a group that was exchanged, with right hashes of its own, is damage. The last group of a read has no later one to compare it with:
// the scrub does that.
func (h *shard) readGroups(ctx context.Context, from, through uint64, handle func(*format.Group) error) error {
	var before *format.Group
	for from <= through {
		page, err := h.page(ctx, from, min(through-from+1, pageGroups))
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
		for i, g := range page {
			if before != nil && g.Before != before.Hash {
				return h.exchanged(before, g)
			}
			if i+1 < len(page) && page[i+1].Before != g.Hash { // before it is handed over
				return h.exchanged(g, page[i+1])
			}
			if err := handle(g); err != nil {
				return err
			}
			before = g
			from++
		}
	}
	return nil
}

func (h *shard) exchanged(g, next *format.Group) error {
	return h.markDamaged(g.Seq, fmt.Errorf("group %d names another group before it: one of the two was exchanged", next.Seq))
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

// storedGroups is Groups for groups that are rarely in memory. A single group stays cached.
func (s *Store) storedGroups(ctx context.Context, shard int, from, through uint64, each func(*format.Group) error) error {
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
