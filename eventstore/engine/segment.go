package engine

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/folder"
	"payledger/eventstore/format"
	"payledger/eventstore/handover"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/streams"
)

// DefaultSegmentBytes is the size from which a segment is closed. After a kill the server reads
// whole open segments: those of all shards together stay below 1 GiB.
const DefaultSegmentBytes = 128 << 20

const messageOverhead = 110 // roughly the number of bytes that the server adds to a group's own

func (h *shard) name() string { return streams.Shard(h.n) }

// segment is one stream of a shard.
type segment = streams.Segment

// segments are the streams of a shard. A closing group ends one, and names the next.
type segments struct {
	streams.Line
	rolling bool          // the newest one was closed, and its successor is being made
	closeAt uint32        // the segment of this number is closed as soon as it is open, however small it is
	looking bool          // a goroutine looks whether the servers can make a successor
	ready   uint32        // the segment of this number may be closed: the servers can make its successor
	atStart uint64        // the last sequence when the log was opened
	floor   streams.Floor // the dropped part
	begins  format.Head   // the end of the segment before the oldest one, as the first group names it
}

// toClose reports whether the open segment is to be closed, however small it is.
func (g *segments) toClose() bool { return g.closeAt == g.Open().Number }

// ended reports whether a closing group has its successor.
func (g *segments) ended(closing *format.Group) bool { return g.Open().First > closing.Seq }

// first returns the first sequence that was not dropped.
func (g *segments) first() uint64 { return max(g.floor.Seq+1, g.Oldest().First) }

// nameOf returns the name of the segment that holds a sequence. The caller holds the lock.
func (h *shard) nameOf(seq uint64) string {
	if g, ok := h.segments.Find(seq); ok {
		return g.Name()
	}
	return h.name()
}

// segmentOf returns the segment that holds a sequence now or later.
func (h *shard) segmentOf(seq uint64) (segment, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.segments.Find(seq)
}

// reader returns the connection for look-ups in the shard. Deliveries, secrets and checkpoints have
// the three after those of the log's shards.
func (h *shard) reader() int {
	if h.kind.Covers {
		return h.s.shards + 2
	}
	return min(h.n, h.s.shards)
}

func (h *shard) groupDirect(ctx context.Context, seq uint64) (*format.Group, error) {
	seg, ok := h.segmentOf(seq)
	if !ok {
		return nil, fault.ErrNotFound
	}
	if err := h.mayRead(ctx, seg, folder.Span{From: seq, Through: seq}); err != nil {
		return nil, err
	}
	m, err := h.s.api.Direct(ctx, h.reader(), seg.Name(), seq)
	if err != nil {
		return nil, err
	}
	return h.parse(seq, m.Data, handover.WriterOf(m.Header))
}

func (h *shard) parse(seq uint64, data []byte, writer format.Writer) (*format.Group, error) {
	g, err := format.ParseGroupAt(h.n, seq, data)
	if err == nil {
		g.Writer = writer
	}
	if err == nil && g.Log != h.s.id {
		err = fmt.Errorf("%w: it is a group of another log", format.ErrGroup)
	}
	return g, err
}

func (h *shard) groupAtLeader(ctx context.Context, seq uint64) (*format.Group, error) {
	seg, ok := h.segmentOf(seq)
	if !ok {
		return nil, fault.ErrNotFound
	}
	if err := h.mayRead(ctx, seg, folder.Span{From: seq, Through: seq}); err != nil {
		return nil, err
	}
	m, err := h.s.api.AtLeader(ctx, seg.Name(), jetapi.Get{Seq: seq})
	if err != nil {
		return nil, err
	}
	return h.parse(seq, m.Body, handover.WriterIn(m.Header))
}

// page reads up to n consecutive groups of one segment from seq on, from one server.
func (h *shard) page(ctx context.Context, seq, n uint64) (page []*format.Group, err error) {
	seg, ok := h.segmentOf(seq)
	if !ok {
		return nil, fault.ErrNotFound
	}
	if seg.Last > 0 {
		n = min(n, seg.Last-seq+1)
	}
	if n == 1 {
		g, err := h.groupDirect(ctx, seq)
		if err != nil {
			return nil, err
		}
		return []*format.Group{g}, nil
	}
	if err := h.mayRead(ctx, seg, folder.Span{From: seq, Through: seq + n - 1, On: true}); err != nil {
		return nil, err
	}
	_, err = h.s.api.Page(ctx, h.reader(), seg.Name(), seg.Subject(), seq, n, func(found uint64, m *nats.Msg) (bool, error) {
		if found != seq+uint64(len(page)) {
			return false, fault.ErrNotFound
		}
		g, err := h.parse(found, m.Data, handover.WriterOf(m.Header))
		if err == nil {
			page = append(page, g)
		}
		return uint64(len(page)) < n, err
	})
	return page, err
}

// lastAtLeader returns the sequence of the last group of the shard, by the leader of the open
// segment. If that group closes its segment, lastAtLeader continues in the next one, which another
// process may have made.
func (h *shard) lastAtLeader(ctx context.Context) (uint64, error) {
	for {
		h.mu.Lock()
		seg := h.segments.Open()
		h.mu.Unlock()
		m, err := h.s.api.AtLeader(ctx, seg.Name(), jetapi.Get{LastBySubject: seg.Subject()})
		if errors.Is(err, fault.ErrNotFound) {
			return seg.First - 1, nil
		}
		if err != nil {
			return 0, err
		}
		g, err := h.parse(m.Seq, m.Body, handover.WriterIn(m.Header))
		if err != nil {
			return 0, h.markDamaged(m.Seq, err)
		}
		if g.Kind != format.KindClosing {
			return m.Seq, nil
		}
		if err := h.makeSuccessor(ctx, g); err != nil {
			if h.kind.Covers && !h.s.starting.Load() { // an old end contradicts no newer one
				return m.Seq, nil
			}
			return 0, err
		}
	}
}

func (s *Store) segmentConfig(g segment) jetstream.StreamConfig {
	keeps := !streams.KindOf(g.Shard).Destroys
	return jetstream.StreamConfig{
		Name: g.Name(), Subjects: []string{g.Subject()}, FirstSeq: g.First, Storage: jetstream.FileStorage, Replicas: s.replicas, Placement: s.api.Placement,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, MaxAge: 0, Duplicates: streams.Duplicates,
		DenyDelete: keeps, DenyPurge: keeps, AllowDirect: true, Compression: jetstream.NoCompression,
		Metadata: map[string]string{
			streams.MetadataShards: strconv.Itoa(s.shards), streams.MetadataFormat: streams.Format, streams.MetadataLog: hex.EncodeToString(s.id[:]),
		},
	}
}

// mayClose reports whether the open segment may be closed. A closing group cannot be taken back,
// and nothing follows it before the successor is there. A cluster makes one only while it sees all
// of its servers: if one of them is gone, a stream that exists still takes groups. So the segment
// grows until all are there. The caller holds the lock.
func (h *shard) mayClose() bool {
	if h.s.sole || h.segments.ready == h.segments.Open().Number {
		return true
	}
	if !h.segments.looking {
		h.segments.looking = true
		go h.lookForServers(h.segments.Open())
	}
	return false
}

// lookForServers looks at the servers of a segment until all are there, or the segment is not this
// node's to close.
func (h *shard) lookForServers(g segment) {
	defer func() {
		h.mu.Lock()
		h.segments.looking = false
		h.sendNext()
		h.mu.Unlock()
	}()
	for logged := false; ; {
		ctx, cancel := context.WithTimeout(h.s.life, jetapi.ReadTimeout)
		err := h.allServers(ctx, g)
		cancel()
		h.mu.Lock()
		over := h.s.closing.Load() || h.stopped != nil || !h.owner.MayAppend() || h.segments.Open().Number != g.Number
		if err == nil && !over {
			h.segments.ready = g.Number
		}
		h.mu.Unlock()
		if err == nil || over {
			return
		}
		if !logged {
			logged = true
			h.s.log.Warn().Err(err).Int("shard", h.n).Msg("the segment is not closed, and grows: its successor could not be made")
		}
		if due.Rest(h.s.life, recheckPause, nil) != nil {
			return
		}
	}
}

// allServers returns an error if the leader of a segment does not see all of its replicas.
func (h *shard) allServers(ctx context.Context, g segment) error {
	stream, err := h.s.api.JS.Stream(ctx, g.Name())
	if err != nil {
		return err
	}
	cluster := stream.CachedInfo().Cluster
	if cluster == nil || cluster.Leader == "" {
		return errors.New("it has no leader")
	}
	there := 1
	for _, r := range cluster.Replicas {
		if !r.Offline {
			there++
		}
	}
	if there < h.s.replicas {
		return fmt.Errorf("%d of %d NATS servers are there", there, h.s.replicas)
	}
	return nil
}

// rollAfter starts roll if a group that was applied or read closes its segment. The caller holds
// the lock.
func (h *shard) rollAfter(g *format.Group) {
	if g.Kind != format.KindClosing || h.segments.ended(g) {
		return
	}
	h.segments.rolling = true
	go h.roll(g)
}

// roll makes the segment that follows a closing group, and seals the closed segment. It tries until
// it succeeds.
func (h *shard) roll(g *format.Group) {
	for {
		ctx, cancel := context.WithTimeout(h.s.life, jetapi.ReadTimeout)
		err := h.makeSuccessor(ctx, g)
		cancel()
		if err == nil || h.s.closing.Load() {
			return
		}
		h.s.log.Warn().Err(err).Int("shard", h.n).Msg("the next segment could not be made; trying again")
		if due.Rest(h.s.life, recheckPause, nil) != nil {
			return
		}
	}
}

// makeSuccessor makes the segment that follows a closing group, unless it exists, and seals the one
// before it. It is safe to repeat, and any node may do it.
func (h *shard) makeSuccessor(ctx context.Context, g *format.Group) error {
	next := segment{Shard: h.n, Number: g.Next, First: g.Seq + 1}
	if !h.s.readOnly {
		_, err := h.s.api.JS.CreateStream(ctx, h.s.segmentConfig(next))
		if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return fmt.Errorf("eventstore: create %s: %w", next.Name(), err)
		}
	}
	h.mu.Lock()
	if !h.segments.ended(g) {
		h.segments.Succeed(next)
		h.segments.rolling = false
		h.sendNext()
	}
	full, there := h.segments.Find(g.Seq)
	h.mu.Unlock()
	if !there { // it was dropped meanwhile
		return nil
	}
	return h.seal(ctx, full)
}

// seal makes the server refuse messages for a closed segment. A stream of an embedded server is not
// sealed: its closing group is enough, and the server would rewrite the stream's description and
// its checksum in two steps. After a crash between them the server would not know the stream any
// more (nats-server filestore.go, writeStreamMeta).
func (h *shard) seal(ctx context.Context, g segment) error {
	if h.s.readOnly || h.s.sole {
		return nil
	}
	config := h.s.segmentConfig(g)
	config.Sealed = true
	if _, err := h.s.api.JS.UpdateStream(ctx, config); err != nil {
		return fmt.Errorf("eventstore: seal %s: %w", g.Name(), err)
	}
	return nil
}
