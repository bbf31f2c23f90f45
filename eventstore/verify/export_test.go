package verify

import (
	"context"
	"errors"

	"payledger/eventstore/archive"
	"payledger/eventstore/format"
)

// Recorded returns the recorded state of an event.
func Recorded(r *format.Recorded) (any, error) { return cores[r.Aggregate].DecodeState(r) }

// MatchedTips lists the tips in runs of a number of tips, and merges a number of runs at once. It
// returns the number of tips, the number of events that are in the list, and the largest number of
// runs that were read at once.
func MatchedTips(ctx context.Context, a *archive.Archive, in string, tipsOfRun, runsAtOnce int) (stored, matched uint64, read int, err error) {
	l, err := listTips(ctx, a, in, sorting{tipsOfRun, runsAtOnce})
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	for shard := range a.Shards {
		t, err := l.of(shard)
		if err != nil {
			return 0, 0, 0, err
		}
		read = max(read, len(t.runs))
		damaged := func(string, uint64, string) error { return errors.New("damage") }
		err = a.Groups(ctx, shard, 0, damaged, func(_ string, g *format.Group) error {
			for _, r := range g.Frames {
				has, err := t.has(r)
				if has {
					matched++
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return 0, 0, 0, err
		}
	}
	return l.stored, matched, read, nil
}
