package secretlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

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

	mu sync.Mutex
	streams.Line
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
	l.mu.Lock()
	defer l.mu.Unlock()
	infos = slices.DeleteFunc(infos, func(info *jetstream.StreamInfo) bool { return numberOf(info.Config.Name) <= dropped })
	if len(infos) == 0 {
		return 0, missingSegment(dropped + 1)
	}
	for i, info := range infos {
		// An empty last segment whose creation was not known: the segment before it has grown
		// since.
		if i > 0 && i == len(infos)-1 && info.State.Msgs == 0 && info.Config.FirstSeq <= last && l.Sole {
			if !l.ReadOnly {
				if err := jetapi.DeleteStream(ctx, l.API.JS, info.Config.Name); err != nil {
					return 0, err
				}
			}
			break
		}
		g := newSegment(numberOf(info.Config.Name), max(1, info.Config.FirstSeq))
		if due := dropped + 1 + uint32(i); g.Number != due || i > 0 && g.First <= l.Open().First || due == 1 && g.First != 1 {
			return 0, missingSegment(due)
		}
		g.Bytes = info.State.Bytes
		l.Succeed(g)
		last = max(g.First-1, info.State.LastSeq)
	}
	return last, nil
}

func missingSegment(number uint32) error {
	return fmt.Errorf("%w: %s: segment %d is missing; copy the folder before anything else", fault.ErrUnhealthy, streams.Secrets, number)
}

// newest returns the segment that takes messages.
func (l *segments) newest() segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Open()
}

// of returns the segment of a sequence; the oldest one for a sequence of a dropped one.
func (l *segments) of(seq uint64) segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	g, _ := l.Find(max(seq, l.Oldest().First))
	return g
}

// all returns the segments in their order.
func (l *segments) all() streams.Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.Line)
}

// Segments returns the segments.
func (b *Stream) Segments() streams.Line { return b.segments.all() }

// grow notes that a message was stored, given the bytes of its subject and its body.
func (l *segments) grow(bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Grow(bytes + recordOverhead)
}

// full reports whether the next segment is due.
func (l *segments) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Sole && l.Open().Bytes >= l.Bytes
}

// begin begins a segment after the last sequence, if the newest one has a message and at least some
// bytes. Nothing may be under way.
func (l *segments) begin(ctx context.Context, last, bytes uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	newest := l.Open()
	g := newSegment(newest.Number+1, last+1)
	if newest.First > last || newest.Bytes < bytes {
		return nil
	}
	_, err := l.API.JS.CreateStream(ctx, l.Stream(g))
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // an answer was lost, and the segment before has grown since
		err = l.remake(ctx, g)
	}
	if err != nil {
		return fmt.Errorf("eventstore: create %s: %w", g.Name(), err)
	}
	l.Succeed(g)
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

// forget is Forget with the lock.
func (l *segments) forget(number uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Forget(number)
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
