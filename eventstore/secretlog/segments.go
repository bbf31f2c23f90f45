package secretlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/fault"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/streams"
)

// segmentBytes is the size from which the stream continues in a new segment. After a kill the
// server reads the whole of each stream that changed in the last two minutes.
const segmentBytes = 64 << 20

const recordOverhead = 30 // the number of bytes that the server adds to a message on the disk

// segments are the streams of SECRETS, each with subjects of its own. No new message can reach an
// older one. Only the sole writer begins one, when nothing is under way: there is no message that
// ends a segment. A cluster has one, unless it was restored from a folder.
type segments struct {
	Config
	changing sync.Mutex
	line     atomic.Pointer[streams.Line]
	bytes    atomic.Uint64 // roughly the stored bytes of the newest one
}

type segment = streams.Segment

func newSegment(number uint32, first uint64) segment {
	return segment{Shard: streams.SecretShard, Number: number, First: first}
}

func numberOf(stream string) uint32 { return streams.Number(streams.SecretShard, stream) }

func subjectOf(g segment, topic string) string { return strings.TrimSuffix(g.Subject(), ">") + topic }

// Make makes the first segment, unless there is one.
func Make(ctx context.Context, js jetstream.JetStream, config func(streams.Segment) jetstream.StreamConfig) error {
	infos, err := listSegments(ctx, js)
	if err != nil || len(infos) > 0 {
		return err
	}
	err = jetapi.CreateStream(ctx, js, config(newSegment(1, 0)))
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // by another node, at the same moment
		err = nil
	}
	return err
}

// listSegments returns the segments on a server, in their order.
func listSegments(ctx context.Context, js jetstream.JetStream) ([]*jetstream.StreamInfo, error) {
	all, err := jetapi.ListStreams(ctx, js, streams.Pattern(streams.SecretShard))
	all = slices.DeleteFunc(all, func(info *jetstream.StreamInfo) bool { return numberOf(info.Config.Name) == 0 })
	slices.SortFunc(all, func(a, b *jetstream.StreamInfo) int { return streams.Compare(a.Config.Name, b.Config.Name) })
	return all, err
}

// lineOf returns the segments of a server's list.
func lineOf(infos []*jetstream.StreamInfo) (all streams.Line) {
	for _, info := range infos {
		all.Succeed(newSegment(numberOf(info.Config.Name), max(1, info.Config.FirstSeq)))
	}
	return all
}

// SegmentsOn returns the segments on a server.
func SegmentsOn(ctx context.Context, api *jetapi.Client) (streams.Line, error) {
	infos, err := listSegments(ctx, api.JS)
	if err != nil {
		err = fmt.Errorf("eventstore: %s: %w", streams.Secrets, err)
	}
	return lineOf(infos), err
}

// load takes the segments on the server that were not dropped. It returns the last sequence.
func (l *segments) load(ctx context.Context, infos []*jetstream.StreamInfo, dropped uint32) (last uint64, err error) {
	all := lineOf(infos)
	all.Forget(dropped)
	infos = infos[len(infos)-len(all):]
	for i, info := range infos {
		g := all[i]
		// An empty last segment whose creation was not known: the segment before it has grown
		// since.
		if i > 0 && i == len(infos)-1 && info.State.Msgs == 0 && g.First <= last && l.Sole {
			if !l.ReadOnly {
				err = jetapi.DeleteStream(ctx, l.API.JS, g.Name())
			}
			all = all[:i]
			all[i-1].Last = 0
			break
		}
		if due := dropped + 1 + uint32(i); g.Number != due || i > 0 && g.First <= all[i-1].First || due == 1 && g.First != 1 {
			return 0, missingSegment(due)
		}
		l.bytes.Store(info.State.Bytes)
		last = max(g.First-1, info.State.LastSeq)
	}
	if len(all) == 0 {
		return 0, missingSegment(dropped + 1)
	}
	l.line.Store(&all)
	return last, err
}

func missingSegment(number uint32) error {
	return fmt.Errorf("%w: %s: segment %d is missing; copy the folder before anything else", fault.ErrUnhealthy, streams.Secrets, number)
}

// all returns the segments.
func (l *segments) all() streams.Line { return *l.line.Load() }

// Segments returns the segments.
func (b *Stream) Segments() streams.Line { return b.segments.all() }

// of returns the segment of a sequence; the oldest one for a sequence of a dropped one.
func (l *segments) of(seq uint64) segment {
	all := l.all()
	g, _ := all.Find(max(seq, all.Oldest().First))
	return g
}

// change changes the segments.
func (l *segments) change(do func(*streams.Line)) {
	l.changing.Lock()
	defer l.changing.Unlock()
	all := l.all()
	do(&all)
	l.line.Store(&all)
}

// full reports whether the next segment is due.
func (l *segments) full() bool { return l.Sole && l.bytes.Load() >= l.Bytes }

// begin begins a segment after the last sequence, if the newest one has a message and at least some
// bytes. Nothing may be under way.
func (l *segments) begin(ctx context.Context, last, bytes uint64) error {
	newest := l.all().Open()
	g := newSegment(newest.Number+1, last+1)
	if newest.First > last || l.bytes.Load() < bytes {
		return nil
	}
	_, err := l.API.JS.CreateStream(ctx, l.Stream(g))
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // an answer was lost, and the segment before has grown since
		err = l.remake(ctx, g)
	}
	if err != nil {
		return fmt.Errorf("eventstore: create %s: %w", g.Name(), err)
	}
	l.change(func(all *streams.Line) { all.Succeed(g) })
	l.bytes.Store(0)
	return nil
}

// remake makes a segment again that was made with another beginning. It must be empty.
func (l *segments) remake(ctx context.Context, g segment) error {
	there, err := l.API.JS.Stream(ctx, g.Name())
	if err != nil {
		return err
	}
	if state := there.CachedInfo().State; state.Msgs > 0 || state.NumDeleted > 0 {
		return fmt.Errorf("%w: it holds records", fault.ErrUnhealthy)
	}
	if err := l.API.JS.DeleteStream(ctx, g.Name()); err != nil {
		return err
	}
	_, err = l.API.JS.CreateStream(ctx, l.Stream(g))
	return err
}

// End returns the sequence of the last message that stands, as the leaders of the segments hold it;
// 0 if there is none.
func End(ctx context.Context, api *jetapi.Client, segments streams.Line) (uint64, error) {
	for _, g := range slices.Backward(segments) {
		m, err := api.AtLeader(ctx, g.Name(), jetapi.Get{LastBySubject: ">"})
		if !errors.Is(err, fault.ErrNotFound) {
			return m.Seq, err
		}
	}
	return 0, nil
}
