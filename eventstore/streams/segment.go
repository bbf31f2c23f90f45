package streams

import (
	"slices"
	"sort"
)

// Segment is one stream of a shard. Only the newest segment takes messages. Sequences go on from
// one to the next.
type Segment struct {
	Shard  int
	Number uint32 // from 1
	First  uint64 // sequence of its first message
	Last   uint64 // sequence of its last message; 0 while it is open
	Bytes  uint64 // roughly the stored bytes
	Sealed bool   // the server has sealed it, as of the start
}

// Name returns the name of its stream.
func (g Segment) Name() string { return Name(g.Shard, g.Number) }

// Subject returns the subject of its messages; of SECRETS a pattern.
func (g Segment) Subject() string { return Subject(g.Shard, g.Number) }

// Line is the segments of a shard that were not dropped, oldest first, without a gap. It is never
// empty.
type Line []Segment

// Open returns the segment that takes messages.
func (l Line) Open() Segment { return l[len(l)-1] }

// Oldest returns the first segment.
func (l Line) Oldest() Segment { return l[0] }

// Names returns the names of their streams.
func (l Line) Names() (names []string) {
	for _, g := range l {
		names = append(names, g.Name())
	}
	return names
}

// Find returns the segment that holds a sequence now or later.
func (l Line) Find(seq uint64) (g Segment, there bool) {
	i := sort.Search(len(l), func(i int) bool { return l[i].First > seq })
	if i == 0 {
		return g, false
	}
	return l[i-1], true
}

// Numbered returns the segment with a number.
func (l Line) Numbered(number uint32) (g Segment, there bool) {
	first := l.Oldest().Number
	if number < first || int(number-first) >= len(l) {
		return g, false
	}
	return l[number-first], true
}

// Grow notes that bytes were stored in the open segment.
func (l Line) Grow(bytes int) { l[len(l)-1].Bytes += uint64(bytes) }

// Succeed adds the segment that follows the open one.
func (l *Line) Succeed(next Segment) {
	all := append(slices.Clone(*l), next)
	if n := len(all); n > 1 {
		all[n-2].Last = next.First - 1
	}
	*l = all
}

// Forget removes the segments up to a number, which were dropped.
func (l *Line) Forget(number uint32) {
	*l = slices.DeleteFunc(slices.Clone(*l), func(g Segment) bool { return g.Number <= number })
}
