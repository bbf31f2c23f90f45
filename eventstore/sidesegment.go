package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/jetapi"

	"github.com/nats-io/nats.go/jetstream"
)

// sideSegmentBytes is the size from which a stream beside the log continues in a new segment. After a kill the
// server reads the whole of each stream that changed in the last two minutes.
const sideSegmentBytes = 64 << 20

// recordOverhead is what the server adds to a message on the disk, in bytes.
const recordOverhead = 30

// sideLog is an endless stream beside the log. It consists of segments: streams <name>_1, <name>_2, …, each with
// subjects of its own; sequences go on from one to the next. New messages go into the newest segment. Only a sole writer
// begins segments: then no message can reach an older segment any more.
type sideLog struct {
	s      *Store
	name   string // of all of it
	root   string // of the subjects
	config func(name, subject string) jetstream.StreamConfig

	mu       sync.Mutex
	segments []segment // first and number only
	bytes    uint64    // about what is stored in the newest
}

// segmented are the streams beside the log that consist of segments.
var segmented = []string{checkpoint.Stream, secretStream}

// parseSideName returns the stream that a segment belongs to, and its number.
func parseSideName(name string) (of string, number uint32, ok bool) {
	of, digits, _ := strings.Cut(name, "_")
	n, err := strconv.ParseUint(digits, 10, 32)
	return of, uint32(n), err == nil && slices.Contains(segmented, of) && sideName(of, uint32(n)) == name
}

func sideName(of string, number uint32) string {
	return of + "_" + strconv.FormatUint(uint64(number), 10)
}

// sideStream reports whether a stream stands beside the log, and whether single messages of it are deleted.
func sideStream(name string) (deletes, side bool) {
	if of, _, ok := parseSideName(name); ok {
		name = of
	} else if slices.Contains(segmented, name) {
		return false, false
	}
	deletes, side = sideStreams[name]
	return deletes, side
}

// isSecrets reports whether a stream is a segment of SECRETS.
func isSecrets(stream string) bool {
	of, _, ok := parseSideName(stream)
	return ok && of == secretStream
}

// newestSide returns the number of the newest segment of each segmented stream.
func newestSide(names []string) map[string]uint32 {
	newest := map[string]uint32{}
	for _, name := range names {
		if of, number, ok := parseSideName(name); ok {
			newest[of] = max(newest[of], number)
		}
	}
	return newest
}

// open finds the segments, or makes the first one if it may. It returns the last sequence.
func (l *sideLog) open(ctx context.Context, create bool) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	infos, err := l.list(ctx)
	if err == nil && len(infos) == 0 && create {
		_, err = l.s.js.CreateStream(ctx, l.segmentConfig(segment{number: 1, first: 1}))
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // by another node, at the same moment
			err = nil
		}
		if err == nil {
			infos, err = l.list(ctx)
		}
	}
	if err == nil && len(infos) == 0 {
		err = jetstream.ErrStreamNotFound
	}
	if err != nil {
		return 0, fmt.Errorf("eventstore: %s: %w", l.name, err)
	}
	l.segments, l.bytes = nil, 0
	last := uint64(0)
	for i, info := range infos {
		if i > 0 && i == len(infos)-1 && info.State.Msgs == 0 && info.Config.FirstSeq <= last && l.s.sole { // its creation was not known, and the one before has grown since
			if !l.s.readOnly {
				if err := l.s.js.DeleteStream(ctx, info.Config.Name); err != nil {
					return 0, fmt.Errorf("eventstore: %s: %w", l.name, err)
				}
			}
			break
		}
		_, number, _ := parseSideName(info.Config.Name)
		g := segment{number: number, first: max(1, info.Config.FirstSeq)}
		if number != uint32(i+1) || i > 0 && g.first <= l.segments[i-1].first || i == 0 && g.first != 1 {
			return 0, fmt.Errorf("%w: %s: segment %d is missing; copy the folder before anything else", ErrUnhealthy, l.name, i+1)
		}
		l.segments, l.bytes = append(l.segments, g), info.State.Bytes
		last = max(g.first-1, info.State.LastSeq)
	}
	return last, nil
}

// list returns the segments in their order.
func (l *sideLog) list(ctx context.Context) (infos []*jetstream.StreamInfo, err error) {
	all := l.s.js.ListStreams(ctx, jetstream.WithStreamListSubject(l.root+".>"))
	for info := range all.Info() {
		if of, _, ok := parseSideName(info.Config.Name); ok && of == l.name {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b *jetstream.StreamInfo) int {
		_, x, _ := parseSideName(a.Config.Name)
		_, y, _ := parseSideName(b.Config.Name)
		return int(x) - int(y)
	})
	return infos, all.Err()
}

func (l *sideLog) segmentConfig(g segment) jetstream.StreamConfig {
	c := l.config(l.stream(g), l.subject(g, ">"))
	if g.first > 1 {
		c.FirstSeq = g.first
	}
	return c
}

func (l *sideLog) stream(g segment) string { return sideName(l.name, g.number) }

func (l *sideLog) subject(g segment, rest string) string {
	return l.root + "." + strconv.FormatUint(uint64(g.number), 10) + "." + rest
}

// newest returns the segment that takes messages.
func (l *sideLog) newest() segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.segments[len(l.segments)-1]
}

// of returns the segment of a sequence; last is the last sequence that it can hold.
func (l *sideLog) of(seq uint64) segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, _ := slices.BinarySearchFunc(l.segments, seq, func(g segment, seq uint64) int {
		if g.first > seq {
			return 1
		}
		return -1
	})
	i = max(i, 1)
	g := l.segments[i-1]
	g.last = 1<<64 - 1
	if i < len(l.segments) {
		g.last = l.segments[i].first - 1
	}
	return g
}

// all returns the segments; last as in of.
func (l *sideLog) all() (all []segment) {
	l.mu.Lock()
	segments := slices.Clone(l.segments)
	l.mu.Unlock()
	for _, g := range segments {
		all = append(all, l.of(g.first))
	}
	return all
}

// stored accounts for a message, given the bytes of its subject and its body. It reports whether the next segment should be begun.
func (l *sideLog) stored(bytes int) (full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes += uint64(bytes) + recordOverhead
	return l.s.sole && l.bytes >= l.s.sideBytes
}

// next begins a segment behind the last sequence. Nothing may be under way.
func (l *sideLog) next(ctx context.Context, last uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := segment{number: l.segments[len(l.segments)-1].number + 1, first: last + 1}
	if l.segments[g.number-2].first > last || l.bytes < l.s.sideBytes {
		return nil
	}
	_, err := l.s.js.CreateStream(ctx, l.segmentConfig(g))
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // an answer was lost, and the segment before has grown since
		err = l.remake(ctx, g)
	}
	if err != nil {
		return fmt.Errorf("eventstore: create %s: %w", l.stream(g), err)
	}
	l.segments, l.bytes = append(l.segments, g), 0
	return nil
}

// remake makes a segment anew that was made with another beginning. It must be empty.
func (l *sideLog) remake(ctx context.Context, g segment) error {
	there, err := l.s.js.Stream(ctx, l.stream(g))
	if err != nil {
		return err
	}
	if state := there.CachedInfo().State; state.Msgs > 0 || state.NumDeleted > 0 {
		return fmt.Errorf("%w: it holds records", ErrUnhealthy)
	}
	if err := l.s.js.DeleteStream(ctx, l.stream(g)); err != nil {
		return err
	}
	_, err = l.s.js.CreateStream(ctx, l.segmentConfig(g))
	return err
}

// atLeader reads a message of a segment at its leader.
func (l *sideLog) atLeader(ctx context.Context, g segment, request jetapi.Get) (jetapi.Message, error) {
	return l.s.api.AtLeader(ctx, l.stream(g), request)
}

// lastAtLeader returns the last message that stands, as the leader holds it; ErrNotFound if there is none.
func (l *sideLog) lastAtLeader(ctx context.Context) (jetapi.Message, error) {
	all := l.all()
	for i := len(all) - 1; ; i-- {
		m, err := l.atLeader(ctx, all[i], jetapi.Get{LastBySubject: l.subject(all[i], ">")})
		if i == 0 || !errors.Is(err, ErrNotFound) {
			return m, err
		}
	}
}

// change requests a change of a segment: a deletion or a purge.
func (l *sideLog) change(ctx context.Context, verb string, g segment, request any) error {
	return l.s.api.Change(ctx, verb, l.stream(g), request)
}
