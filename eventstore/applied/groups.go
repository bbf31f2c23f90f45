package applied

import "payledger/eventstore/format"

const (
	maxBytes  = 4 << 20 // of the groups in memory
	maxGroups = 2048    // the most of them
)

// MaxGroups is the largest number of groups that Groups has.
const MaxGroups = maxGroups

// Groups are the newest applied groups of a shard, without a gap. The zero value has none.
type Groups struct {
	groups []*format.Group
	bytes  int
}

// Add adds the next group, and lets old ones go.
func (g *Groups) Add(next *format.Group) {
	next = next.Light()
	g.groups = append(g.groups, next)
	g.bytes += next.Held
	for g.bytes > maxBytes || len(g.groups) > maxGroups {
		g.bytes -= g.groups[0].Held
		g.groups[0] = nil
		g.groups = g.groups[1:]
	}
}

// From returns the groups from a sequence on; none if the group at the sequence is not there. The
// caller must not change the slice, and reads it under the lock: Add clears the places of old
// groups.
func (g *Groups) From(seq uint64) []*format.Group {
	if len(g.groups) == 0 || seq < g.groups[0].Seq || seq > g.groups[len(g.groups)-1].Seq {
		return nil
	}
	return g.groups[seq-g.groups[0].Seq:]
}

// EventBytes returns the number of events in memory, and the bytes of their groups before
// compression.
func (g *Groups) EventBytes() (events, bytes int) {
	for _, group := range g.groups {
		events, bytes = events+len(group.Frames), bytes+group.Size
	}
	return events, bytes
}
