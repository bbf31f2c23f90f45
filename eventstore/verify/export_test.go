package verify

import (
	"context"
	"errors"

	"payledger/eventstore/archive"
	"payledger/eventstore/format"
)

// Recorded returns the recorded state of an event.
func Recorded(r *format.Recorded) (any, error) { return known[r.Aggregate].recorded(r) }

// MatchedTips lists the tips in runs of a number of tips, and returns the number of tips and the number of events that are in the list.
func MatchedTips(ctx context.Context, a *archive.Archive, in string, tipsOfRun int) (stored, matched uint64, err error) {
	l, err := listTips(ctx, a, in, tipsOfRun)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	for shard := range a.Shards {
		t, err := l.of(shard)
		if err != nil {
			return 0, 0, err
		}
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
			return 0, 0, err
		}
	}
	return l.stored, matched, nil
}
