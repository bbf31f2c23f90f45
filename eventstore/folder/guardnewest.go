package folder

import (
	"cmp"
	"context"
	"fmt"
	"math"
)

// CheckNewest is Check before an append to a stream whose messages may be deleted, as SECRETS: of
// the newest block, up to a message that is stored. A gap is no damage there, so the look reads the
// records with their checksums. The caller decides how long a look counts.
func (g *Guard) CheckNewest(ctx context.Context, stream string, through uint64) (Damage, error) {
	span := Span{Stream: stream, From: through, Through: through}
	return g.check(ctx, span, func(s *guarded, look bool) judged {
		if !look {
			return judged{err: errLook}
		}
		return s.certain(func() judged { return g.newest(stream, through) })
	})
}

// newest returns the damage that one look at the newest block finds. A block with nothing but marks
// of deleted messages does not show the end of the stream: then all blocks are read.
func (g *Guard) newest(stream string, through uint64) judged {
	found, err := Read(g.dir, stream, Reading{Newest: true, Through: through})
	if err == nil && len(found.Faults) == 0 && found.Last < through {
		found, err = Read(g.dir, stream, Reading{Through: through})
	}
	bad := judged{before: math.MaxUint64} // from 0: all reads need the block
	switch {
	case unreadable(err):
		bad.Damage, bad.lost = Damage{through, err.Error()}, true
	case err != nil:
		return judged{err: err}
	case len(found.Faults) > 0:
		bad.Damage = Damage(found.Faults[0])
	case found.Last < through:
		end := cmp.Or(found.Torn.String(), "it ends here")
		bad.Damage = Damage{found.Last + 1, fmt.Sprintf("%s, and %d is stored", end, through)}
	}
	return bad
}
