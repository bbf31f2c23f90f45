package secretlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
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

// segments are the streams SECRETS_1, SECRETS_2, …, each with subjects of its own; sequences go on
// from one to the next. New messages go into the newest one, and none can reach an older one any
// more. Only the sole writer begins one, when nothing is under way; a cluster has one, unless it
// was restored from a folder.
type segments struct {
	Config

	mu    sync.Mutex
	list  []segment // without last
	bytes uint64    // roughly the stored bytes of the newest segment
}

type segment struct {
	stream string
	number uint32
	first  uint64 // sequence of its first message
	last   uint64 // the last sequence that it can hold
}

func newSegment(number uint32, first uint64) segment {
	return segment{stream: streams.Name(streams.SecretShard, number), number: number, first: first}
}

func numberOf(stream string) uint32 { return streams.Number(streams.SecretShard, stream) }

func (g segment) subject(topic string) string {
	return streams.Subject(streams.SecretShard, g.number) + "." + topic
}

func subjectOf(stream, topic string) string {
	return segment{number: numberOf(stream)}.subject(topic)
}

func (g segment) config(stream func(name, subject string) jetstream.StreamConfig) jetstream.StreamConfig {
	c := stream(g.stream, g.subject(">"))
	c.DenyDelete, c.DenyPurge = false, false
	if g.first > 1 {
		c.FirstSeq = g.first
	}
	return c
}

// Make makes the first segment, unless there is one.
func Make(ctx context.Context, js jetstream.JetStream, stream func(name, subject string) jetstream.StreamConfig) error {
	infos, err := listSegments(ctx, js)
	if err != nil || len(infos) > 0 {
		return err
	}
	err = jetapi.CreateStream(ctx, js, newSegment(1, 1).config(stream))
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
				if err := l.API.JS.DeleteStream(ctx, info.Config.Name); err != nil {
					return 0, fmt.Errorf("eventstore: %s: %w", streams.Secrets, err)
				}
			}
			break
		}
		g := newSegment(numberOf(info.Config.Name), max(1, info.Config.FirstSeq))
		if due := dropped + 1 + uint32(i); g.number != due || i > 0 && g.first <= l.list[i-1].first || due == 1 && g.first != 1 {
			return 0, missingSegment(due)
		}
		l.list, l.bytes = append(l.list, g), info.State.Bytes
		last = max(g.first-1, info.State.LastSeq)
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
	return l.list[len(l.list)-1]
}

// of returns the segment of a sequence.
func (l *segments) of(seq uint64) segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := sort.Search(len(l.list), func(i int) bool { return l.list[i].first > seq })
	i = max(i, 1)
	g := l.list[i-1]
	g.last = 1<<64 - 1
	if i < len(l.list) {
		g.last = l.list[i].first - 1
	}
	return g
}

// all returns the segments in their order, without last.
func (l *segments) all() []segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

// Segments returns the names of the segments, and their first sequences.
func (b *Stream) Segments() map[string]uint64 {
	all := map[string]uint64{}
	for _, g := range b.segments.all() {
		all[g.stream] = g.first
	}
	return all
}

// names returns the names of the segments in their order.
func (l *segments) names() (names []string) {
	for _, g := range l.all() {
		names = append(names, g.stream)
	}
	return names
}

// grow notes that a message was stored, given the bytes of its subject and its body.
func (l *segments) grow(bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes += uint64(bytes) + recordOverhead
}

// full reports whether the next segment is due.
func (l *segments) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Sole && l.bytes >= l.Bytes
}

// begin begins a segment after the last sequence, if the newest one has a message and at least some
// bytes. Nothing may be under way.
func (l *segments) begin(ctx context.Context, last, bytes uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	newest := l.list[len(l.list)-1]
	g := newSegment(newest.number+1, last+1)
	if newest.first > last || l.bytes < bytes {
		return nil
	}
	_, err := l.API.JS.CreateStream(ctx, g.config(l.Stream))
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // an answer was lost, and the segment before has grown since
		err = l.remake(ctx, g)
	}
	if err != nil {
		return fmt.Errorf("eventstore: create %s: %w", g.stream, err)
	}
	l.list, l.bytes = append(l.list, g), 0
	return nil
}

// remake makes a segment again that was made with another beginning. It must be empty.
func (l *segments) remake(ctx context.Context, g segment) error {
	there, err := l.API.JS.Stream(ctx, g.stream)
	if err != nil {
		return err
	}
	if state := there.CachedInfo().State; state.Msgs > 0 || state.NumDeleted > 0 {
		return fmt.Errorf("%w: it holds records", fault.ErrUnhealthy)
	}
	if err := l.API.JS.DeleteStream(ctx, g.stream); err != nil {
		return err
	}
	_, err = l.API.JS.CreateStream(ctx, g.config(l.Stream))
	return err
}

// forget removes the segments up to a number, which were dropped.
func (l *segments) forget(number uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(slices.Clone(l.list), func(g segment) bool { return g.number <= number })
}

// End returns the sequence of the last message that stands, as the leaders of the segments hold it;
// 0 if there is none.
func End(ctx context.Context, api *jetapi.Client, segments []string) (uint64, error) {
	for _, stream := range slices.Backward(segments) {
		m, err := api.AtLeader(ctx, stream, jetapi.Get{LastBySubject: ">"})
		if !errors.Is(err, fault.ErrNotFound) {
			return m.Seq, err
		}
	}
	return 0, nil
}
