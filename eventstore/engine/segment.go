package engine

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sort"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/handover"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/streams"
)

// A segment is one stream of a shard. Only the last segment takes groups. Its closing group ends it and names the next segment.
type segment struct {
	number uint32 // from 1
	first  uint64 // sequence of its first group
	last   uint64 // sequence of its closing group; 0 while it is open
	bytes  uint64 // roughly the stored bytes
	sealed bool   // the server has sealed it, as of the start
}

// DefaultSegmentBytes is the size from which a segment is closed. After a kill the server reads whole open segments: those of
// all shards together stay below 1 GiB.
const DefaultSegmentBytes = 128 << 20

const messageOverhead = 110 // roughly the number of bytes that the server adds to a group's own

func (g segment) name(shard int) string { return streams.Name(shard, g.number) }

func (g segment) subject(shard int) string { return streams.Subject(shard, g.number) }

func (h *shard) name() string { return streams.Shard(h.n) }

// nameOf returns the name of the segment that holds a sequence. The caller holds the lock.
func (h *shard) nameOf(seq uint64) string {
	if g, ok := h.find(seq); ok {
		return g.name(h.n)
	}
	return h.name()
}

// open returns the segment that takes groups. The caller holds the lock.
func (h *shard) open() segment { return h.segments[len(h.segments)-1] }

// segmentOf returns the segment that holds a sequence now or later.
func (h *shard) segmentOf(seq uint64) (segment, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.find(seq)
}

func (h *shard) find(seq uint64) (segment, bool) {
	i := sort.Search(len(h.segments), func(i int) bool { return h.segments[i].first > seq })
	if i == 0 {
		return segment{}, false
	}
	return h.segments[i-1], true
}

// reader returns the connection for look-ups in the shard. Deliveries and secrets have the two after those of the log's shards.
func (h *shard) reader() int { return min(h.n, h.s.shards) }

func (h *shard) groupDirect(ctx context.Context, seq uint64) (*format.Group, error) {
	seg, ok := h.segmentOf(seq)
	if !ok {
		return nil, fault.ErrNotFound
	}
	m, err := h.s.api.Direct(ctx, h.reader(), seg.name(h.n), seq)
	if err != nil {
		return nil, err
	}
	return h.parse(seq, m.Data, handover.WriterOf(m.Header))
}

func (h *shard) parse(seq uint64, data []byte, writer format.Writer) (*format.Group, error) {
	g, err := format.ParseGroup(data)
	if err == nil {
		g.Writer = writer
	}
	if err == nil && (g.Seq != seq || g.Shard != h.n || g.Log != h.s.id) {
		err = fmt.Errorf("%w: it is group %d of shard %d", format.ErrGroup, g.Seq, g.Shard)
	}
	return g, err
}

func (h *shard) groupAtLeader(ctx context.Context, seq uint64) (*format.Group, error) {
	seg, ok := h.segmentOf(seq)
	if !ok {
		return nil, fault.ErrNotFound
	}
	m, err := h.s.api.AtLeader(ctx, seg.name(h.n), jetapi.Get{Seq: seq})
	if err != nil {
		return nil, err
	}
	return h.parse(seq, m.Data, handover.WriterIn(m.Header))
}

// page reads up to n consecutive groups of one segment from seq on, from one server.
func (h *shard) page(ctx context.Context, seq, n uint64) (page []*format.Group, err error) {
	seg, ok := h.segmentOf(seq)
	if !ok {
		return nil, fault.ErrNotFound
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
			return false, fault.ErrNotFound
		}
		g, err := h.parse(at, m.Data, handover.WriterOf(m.Header))
		if err == nil {
			page = append(page, g)
		}
		return uint64(len(page)) < n, err
	})
	return page, err
}

// lastAtLeader returns the sequence of the last group of the shard, by the leader of the open segment. If that group closes its
// segment, lastAtLeader continues in the next one, which another process may have made.
func (h *shard) lastAtLeader(ctx context.Context) (uint64, error) {
	for {
		h.mu.Lock()
		seg := h.open()
		h.mu.Unlock()
		m, err := h.s.api.AtLeader(ctx, seg.name(h.n), jetapi.Get{LastBySubject: seg.subject(h.n)})
		if errors.Is(err, fault.ErrNotFound) {
			return seg.first - 1, nil
		}
		if err != nil {
			return 0, err
		}
		g, err := h.parse(m.Seq, m.Data, handover.WriterIn(m.Header))
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

// Metadata of every segment. A log is never opened with another number of shards than it was made with.
const (
	metadataFormat = "payledger-format"
	logFormat      = "3"
)

func (s *Store) segmentConfig(shard int, g segment) jetstream.StreamConfig {
	config := s.streamConfig(g.name(shard), g.subject(shard))
	config.FirstSeq = g.first
	config.Metadata = map[string]string{
		streams.MetadataShards: strconv.Itoa(s.shards), metadataFormat: logFormat, streams.MetadataLog: hex.EncodeToString(s.id[:]),
	}
	return config
}

// closed starts roll if a group that was applied or seen closes its segment. The caller holds the lock.
func (h *shard) closed(g *format.Group) {
	if g.Kind != format.KindClosing {
		return
	}
	last := &h.segments[len(h.segments)-1]
	if last.first > g.Seq {
		return // the next segment exists already
	}
	h.rolling = true
	go h.roll(g)
}

// roll makes the segment that follows a closing group, and seals the closed segment. It tries until it succeeds.
func (h *shard) roll(g *format.Group) {
	for {
		ctx, cancel := context.WithTimeout(h.s.life, jetapi.ReadTimeout)
		err := h.makeSuccessor(ctx, g)
		cancel()
		if err == nil || h.s.closing.Load() {
			return
		}
		h.s.log.Warn().Err(err).Int("shard", h.n).Msg("the next segment could not be made; trying again")
		if jetapi.Pause(h.s.life, recheckPause) != nil {
			return
		}
	}
}

// makeSuccessor makes the segment that follows a closing group, unless it exists, and seals the one before it. It is
// safe to repeat, and any node may do it.
func (h *shard) makeSuccessor(ctx context.Context, g *format.Group) error {
	next := segment{number: g.Next, first: g.Seq + 1}
	if !h.s.readOnly {
		_, err := h.s.js.CreateStream(ctx, h.s.segmentConfig(h.n, next))
		if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return fmt.Errorf("eventstore: create %s: %w", next.name(h.n), err)
		}
	}
	h.mu.Lock()
	last := &h.segments[len(h.segments)-1]
	if last.first > g.Seq {
		h.mu.Unlock()
		return nil
	}
	last.last = g.Seq
	full := *last
	h.segments = append(h.segments, next)
	h.rolling = false
	h.sendNext()
	h.mu.Unlock()
	return h.seal(ctx, full)
}

// seal makes the server refuse messages for a closed segment. A stream of one replica is not sealed: its closing group is
// enough, and the server would rewrite the stream's description and its checksum in two steps. After a crash between them
// the server would not know the stream any more (nats-server filestore.go, writeStreamMeta).
func (h *shard) seal(ctx context.Context, g segment) error {
	if h.s.readOnly || h.s.replicas == 1 {
		return nil
	}
	config := h.s.segmentConfig(h.n, g)
	config.Sealed = true
	if _, err := h.s.js.UpdateStream(ctx, config); err != nil {
		return fmt.Errorf("eventstore: seal %s: %w", g.name(h.n), err)
	}
	return nil
}
