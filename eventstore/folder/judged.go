package folder

import "time"

// judged is the result of a look.
type judged struct {
	Damage
	from, before uint64 // messages whose reads need the damaged block
	lost         bool   // the disk cannot return the block
	err          error
}

// of reports whether a read of a span needs the damaged block.
func (j judged) of(span Span) bool {
	return j.Reason != "" && j.from <= span.Through && span.From < j.before
}

// looks is how many looks may differ from each other.
const looks = 4

// certain returns the damage that two looks in a row find: the server makes files meanwhile, and a
// list of them may lack one. look is one look. A block that the disk cannot return is damage at
// once: each look may take many seconds. After damage no look counts for a later read, which would
// pass by it.
func (s *guarded) certain(look func() judged) (found judged) {
	for range looks {
		before := found.Damage
		if found = look(); found.err != nil || found.Reason == "" {
			return judged{err: found.err}
		}
		if s.listed, s.blocks = (time.Time{}), nil; found.lost || found.Damage == before {
			break
		}
	}
	return found
}

// in returns the damage of a block, with the messages that may be in the block.
func (s *guarded) in(i int, d Damage) judged {
	from := d.Seq
	if begins := s.blocks[i].begins; begins != 0 {
		from = min(from, begins)
	}
	return judged{Damage: d, from: from, before: max(s.after(i), d.Seq+1)}
}
