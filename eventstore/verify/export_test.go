package verify

import (
	"context"
	"errors"

	"payledger/eventstore/archive"
	"payledger/eventstore/format"
)

// Recorded returns the recorded state of an event.
func Recorded(r *format.Recorded) (any, error) { return cores[r.Aggregate].DecodeState(r) }

// MatchedTips lists the tips in batches of a number of bytes, and reads a number of tips ahead. It
// returns the number of tips, and that of the events that are in the list.
func MatchedTips(ctx context.Context, a *archive.Archive, in string, batch, ahead int) (stored, matched uint64, err error) {
	s, err := newScratch(in)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	l, err := listTips(ctx, a, s, listing{batch, ahead})
	if err != nil {
		return 0, 0, err
	}
	for shard := range a.Shards {
		t := l.of(shard)
		damaged := func(string, uint64, string) error { return errors.New("damage") }
		err := a.Groups(ctx, shard, damaged, func(_ string, g *format.Group) error {
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

// ListTipsWithoutStore lists the tips while the scratch store takes no writes.
func ListTipsWithoutStore(ctx context.Context, a *archive.Archive, in string) error {
	s, err := newScratch(in)
	if err != nil {
		return err
	}
	if err := s.close(); err != nil {
		return err
	}
	_, err = listTips(ctx, a, s, usual)
	return err
}
