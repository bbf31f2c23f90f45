package sidelog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/fault"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/stored"
)

// SegmentBytes is the size from which a stream continues in a new segment. After a kill the server
// reads the whole of each stream that changed in the last two minutes.
const SegmentBytes = 64 << 20

const recordOverhead = 30 // the number of bytes that the server adds to a message on the disk

// Server is the access to the server that has the streams.
type Server struct {
	JS       jetstream.JetStream
	API      *jetapi.Client
	Sole     bool // the server is embedded, and no other process writes to the log; else it is a cluster, whose log was made with all its streams
	ReadOnly bool
	Bytes    uint64 // size from which a stream continues in a new segment
}

// Log is an endless stream. It consists of segments: streams SECRETS_1, SECRETS_2, …, each with
// subjects of its own; sequences go on from one to the next. New messages go into the newest one,
// and none can reach an older one any more.
type Log struct {
	Server
	Root   string // of the subjects
	Config func(name, subject string) jetstream.StreamConfig
	// Dropped, if set, returns the number of the newest segment that was dropped, given the
	// segments that exist; 0 if none was.
	Dropped func(context.Context, []*jetstream.StreamInfo) (uint32, error)

	mu       sync.Mutex
	segments []Segment // without Last
	bytes    uint64    // roughly the stored bytes of the newest segment
}

// Segment is one Segment of a Log.
type Segment struct {
	Stream string
	Number uint32
	First  uint64 // sequence of its first message
	Last   uint64 // the last sequence that it can hold
	root   string
}

// Subject returns a subject of the segment.
func (g Segment) Subject(rest string) string {
	return g.root + "." + strconv.FormatUint(uint64(g.Number), 10) + "." + rest
}

func (l *Log) segment(number uint32, first uint64) Segment {
	return Segment{Stream: Name(number), Number: number, First: first, root: l.Root}
}

// Open finds the segments, or makes the first one if it may. It returns the last sequence.
func (l *Log) Open(ctx context.Context, create bool) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	infos, err := l.Segments(ctx, l.Root)
	if err == nil && len(infos) == 0 && create {
		err = jetapi.CreateStream(ctx, l.JS, l.segmentConfig(l.segment(1, 1)))
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // by another node, at the same moment
			err = nil
		}
		if err == nil {
			infos, err = l.Segments(ctx, l.Root)
		}
	}
	if err == nil && len(infos) == 0 {
		err = jetstream.ErrStreamNotFound
	}
	if err != nil {
		return 0, fmt.Errorf("eventstore: %s: %w", SecretStream, err)
	}
	first := uint32(1)
	if l.Dropped != nil {
		dropped, err := l.Dropped(ctx, infos)
		if err != nil {
			return 0, err
		}
		first = dropped + 1
		infos = slices.DeleteFunc(infos, func(info *jetstream.StreamInfo) bool { return Number(info.Config.Name) < first })
	}
	if len(infos) == 0 {
		return 0, missing(first)
	}
	l.segments, l.bytes = nil, 0
	last := uint64(0)
	for i, info := range infos {
		// An empty last segment whose creation was not known: the segment before it has grown
		// since.
		if i > 0 && i == len(infos)-1 && info.State.Msgs == 0 && info.Config.FirstSeq <= last && l.Sole {
			if !l.ReadOnly {
				if err := l.JS.DeleteStream(ctx, info.Config.Name); err != nil {
					return 0, fmt.Errorf("eventstore: %s: %w", SecretStream, err)
				}
			}
			break
		}
		g := l.segment(Number(info.Config.Name), max(1, info.Config.FirstSeq))
		if due := first + uint32(i); g.Number != due || i > 0 && g.First <= l.segments[i-1].First || due == 1 && g.First != 1 {
			return 0, missing(due)
		}
		l.segments, l.bytes = append(l.segments, g), info.State.Bytes
		last = max(g.First-1, info.State.LastSeq)
	}
	return last, nil
}

func missing(number uint32) error {
	return fmt.Errorf("%w: %s: segment %d is missing; copy the folder before anything else", fault.ErrUnhealthy, SecretStream, number)
}

// Segments returns the segments in their order, given the root of their subjects.
func (s Server) Segments(ctx context.Context, root string) (infos []*jetstream.StreamInfo, err error) {
	all, err := jetapi.ListStreams(ctx, s.JS, root+".>")
	for _, info := range all {
		if IsSegment(info.Config.Name) {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b *jetstream.StreamInfo) int { return cmp.Compare(Number(a.Config.Name), Number(b.Config.Name)) })
	return infos, err
}

func (l *Log) segmentConfig(g Segment) jetstream.StreamConfig {
	c := l.Config(g.Stream, g.Subject(">"))
	if g.First > 1 {
		c.FirstSeq = g.First
	}
	return c
}

// Newest returns the segment that takes messages.
func (l *Log) Newest() Segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.segments[len(l.segments)-1]
}

// Of returns the segment of a sequence.
func (l *Log) Of(seq uint64) Segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].First > seq })
	i = max(i, 1)
	g := l.segments[i-1]
	g.Last = 1<<64 - 1
	if i < len(l.segments) {
		g.Last = l.segments[i].First - 1
	}
	return g
}

// All returns the segments in their order.
func (l *Log) All() (all []Segment) {
	l.mu.Lock()
	segments := slices.Clone(l.segments)
	l.mu.Unlock()
	for _, g := range segments {
		all = append(all, l.Of(g.First))
	}
	return all
}

// Stored accounts for a message, given the bytes of its subject and its body. It reports whether
// the next segment is due.
func (l *Log) Stored(bytes int) (full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes += uint64(bytes) + recordOverhead
	return l.full()
}

// Full reports whether the next segment is due.
func (l *Log) Full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full()
}

func (l *Log) full() bool { return l.Sole && l.bytes >= l.Bytes }

// Next begins a segment after the last sequence if the newest one is full. Nothing may be under
// way.
func (l *Log) Next(ctx context.Context, last uint64) error { return l.begin(ctx, last, l.Bytes) }

// Cut is Next for a segment of any size that holds a message.
func (l *Log) Cut(ctx context.Context, last uint64) error { return l.begin(ctx, last, 0) }

func (l *Log) begin(ctx context.Context, last, full uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	newest := l.segments[len(l.segments)-1]
	g := l.segment(newest.Number+1, last+1)
	if newest.First > last || l.bytes < full {
		return nil
	}
	_, err := l.JS.CreateStream(ctx, l.segmentConfig(g))
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // an answer was lost, and the segment before has grown since
		err = l.remake(ctx, g)
	}
	if err != nil {
		return fmt.Errorf("eventstore: create %s: %w", g.Stream, err)
	}
	l.segments, l.bytes = append(l.segments, g), 0
	return nil
}

// Forget removes the segments up to a number, which were dropped.
func (l *Log) Forget(number uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments = slices.DeleteFunc(slices.Clone(l.segments), func(g Segment) bool { return g.Number <= number })
}

// remake makes a segment again that was made with another beginning. It must be empty.
func (l *Log) remake(ctx context.Context, g Segment) error {
	there, err := l.JS.Stream(ctx, g.Stream)
	if err != nil {
		return err
	}
	if state := there.CachedInfo().State; state.Msgs > 0 || state.NumDeleted > 0 {
		return fmt.Errorf("%w: it holds records", fault.ErrUnhealthy)
	}
	if err := l.JS.DeleteStream(ctx, g.Stream); err != nil {
		return err
	}
	_, err = l.JS.CreateStream(ctx, l.segmentConfig(g))
	return err
}

// LastAtLeader returns the last message that stands, as the leader holds it; ErrNotFound if there
// is none.
func (l *Log) LastAtLeader(ctx context.Context) (stored.Message, error) {
	all := l.All()
	for i := len(all) - 1; ; i-- {
		m, err := l.API.AtLeader(ctx, all[i].Stream, jetapi.Get{LastBySubject: all[i].Subject(">")})
		if i == 0 || !errors.Is(err, fault.ErrNotFound) {
			return m, err
		}
	}
}
