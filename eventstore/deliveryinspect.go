package eventstore

import (
	"fmt"

	"payledger/eventstore/blocks"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/format"
)

// The inspection of a stopped folder takes account of the segments of deliveries that were dropped.

// readFloor takes the floor from the tip store.
func (in *inspection) readFloor() {
	value, err := in.tips.Get(tipKey(deliverylog.FloorKey))
	if err != nil {
		return
	}
	if r, err := decodeTip(deliverylog.ShardNumber, value); err == nil {
		in.floor, _ = deliverylog.ParseFloor(r) // the next start refuses an unreadable floor
	}
}

// beingDeleted reports whether a stream is a dropped segment of deliveries that is not removed yet.
func (in *inspection) beingDeleted(name string) bool {
	shard, number, ours := parseSegmentName(name)
	return ours && shard == deliverylog.ShardNumber && number <= in.floor.Segment
}

// seeksFloor reports whether the first segments of deliveries are gone, and nothing says yet that they were dropped: the
// records left of them do.
func (in *inspection) seeksFloor(shard int) bool {
	return shard == deliverylog.ShardNumber && in.oldest > in.floor.Segment+1
}

func (in *inspection) noteFloor(g *format.Group) error {
	for _, r := range g.Frames {
		f, err := deliverylog.ParseFloor(r)
		if err != nil {
			return err
		}
		if f.Segment > in.floor.Segment {
			in.floor = f
		}
	}
	return nil
}

// beginning returns the number of a shard's oldest segment, and its first sequence.
func (in *inspection) beginning(shard int) (number uint32, first uint64, err error) {
	switch {
	case shard != deliverylog.ShardNumber || in.oldest <= 1:
		return 1, 1, nil
	case in.floor.Segment < in.oldest:
		return in.floor.Segment + 1, in.floor.Seq + 1, nil
	}
	name := segmentName(shard, in.oldest) // dropped, as a later segment says, and not removed yet
	meta, err := blocks.CheckMeta(blocks.Folder(in.dir, ledgerAccount, name), name)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s: %w; the folder was not changed: copy it before anything else", ErrUnhealthy, name, err)
	}
	return in.oldest, max(1, meta.FirstSeq), nil
}
