package folder

import (
	"fmt"

	"payledger/eventstore/blocks"
)

// judgeDeletes is judge for a stream whose messages may be deleted. A gap is no damage there, so a
// look compares the checksums. Then no length and no sequence can be wrong, and a block needs no
// comparison with its neighbours.
func (s *guarded) judgeDeletes(v view) judged {
	reach, stored := uint64(0), v.span.Stored // reach: the last sequence that a block has shown
	for i, b := range s.blocks {
		newest := i+1 == len(s.blocks)
		needed := s.after(i) > v.span.From && reach < v.span.Through // after a gap at the end of a block the next one, too
		if !needed && (!newest || !v.span.Appends) {
			continue
		}
		o, err := s.outline(i, v)
		switch {
		case unreadable(err):
			found := s.in(i, Damage{s.behind(i, o, v), err.Error()})
			found.lost = true
			return found
		case err != nil:
			return judged{err: err}
		case o == nil: // the server has removed it with its last message
			continue
		}
		reach = max(reach, o.Last)
		wrong := o.Wrong
		switch {
		case wrong != "":
		case o.Torn && !newest:
			wrong = fmt.Sprintf("%s ends within a record, and is not the newest block", b.path)
		case newest && v.look && reach < stored && (b.begins != 0 || v.span.Through >= stored): // else marks of deleted messages only
			wrong = fmt.Sprintf("%s ends with sequence %d, and %d is stored", b.path, reach, stored)
		}
		if wrong != "" {
			return s.in(i, Damage{s.behind(i, o, v), wrong})
		}
	}
	return judged{}
}

// behind returns the sequence after those that a block and the block before it show.
func (s *guarded) behind(i int, o *blocks.Outline, v view) uint64 {
	last := max(o.Last, v.span.First-1)
	if i > 0 {
		if before, err := s.outline(i-1, v); err == nil && before != nil {
			last = max(last, before.Last)
		}
	}
	return last + 1
}
