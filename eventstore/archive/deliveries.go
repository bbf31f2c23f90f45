package archive

import (
	"errors"
	"fmt"

	"payledger/eventstore/blocks"
	"payledger/eventstore/format"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
	"payledger/eventstore/tipstore"
)

// The inspection of a stopped folder must distinguish dropped segments of deliveries from missing
// ones.

// beingDeleted reports whether a stream is a dropped segment of deliveries that is not removed yet.
func (in *inspection) beingDeleted(name string) bool {
	shard, number, ours := streams.Parse(name)
	return ours && streams.Drops(shard) && number <= in.floor.Segment
}

// seeksFloor reports whether the first segments of deliveries are gone and the tip store has no
// floor that covers them. Then the remaining records must contain the floor.
func (in *inspection) seeksFloor(shard int) bool {
	return streams.Drops(shard) && in.oldest > in.floor.Segment+1
}

func (in *inspection) noteFloor(g *format.Group) error {
	for _, r := range g.Frames {
		f, err := streams.KindOf(g.Shard).FloorIn(r)
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
	case !streams.Drops(shard) || in.oldest <= 1:
		return 1, 1, nil
	case in.floor.Segment < in.oldest:
		return in.floor.Segment + 1, in.floor.Seq + 1, nil
	}
	name := streams.Name(shard, in.oldest) // dropped, by a floor in a later segment, and not removed yet
	meta, err := blocks.CheckMeta(blocks.Folder(in.dir, streams.Account, name), name)
	if err != nil {
		return in.oldest, 0, in.broken(name, err)
	}
	return in.oldest, max(1, meta.FirstSeq), nil
}

// complete checks that no older segment of a shard is missing, and that each segment begins at the
// end of the one before it.
func (in *inspection) complete() error {
	for shard, open := range in.open {
		begin, next, err := in.beginning(shard)
		if err != nil {
			return err
		}
		for number := begin; number <= open.number; number++ {
			name := streams.Name(shard, number)
			next, err = in.follows(name, next)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// follows checks that a segment exists and begins at a sequence. It returns the sequence after the
// segment; 0 if that is unknown.
func (in *inspection) follows(name string, next uint64) (uint64, error) {
	if _, there := in.reports[name]; !there {
		return 0, in.missed(name, next, "the stream is gone")
	}
	meta, err := blocks.CheckMeta(blocks.Folder(in.dir, streams.Account, name), name)
	if err != nil {
		return 0, in.broken(name, err)
	}
	first := max(1, meta.FirstSeq)
	if next > 0 && first != next {
		if err := in.missed(name, first, fmt.Sprintf("it begins here, but the segment before ends at %d", next-1)); err != nil {
			return 0, err
		}
	}
	if in.bad[name] {
		return 0, nil
	}
	return max(first, in.reports[name].Last+1), nil
}

// readSide verifies a segment of SECRETS, and compares it with its index. If the server will
// trust the index.db of a segment and read no block, readSide reads only the newest block, unless
// whole is set; the scrub reads the other blocks.
func (in *inspection) readSide(name, folder string, options blocks.Options, whole bool) (blocks.Report, error) {
	var index blocks.Index
	part, newest := !whole, int64(0)
	if part {
		var files []blocks.File
		files, index, part = blocks.Trusted(folder, name)
		if part = part && len(files) > 1; part {
			options.From = blocks.Place{Block: files[len(files)-1].Number}
		}
	}
	var check *secretlog.Comparison
	if in.tips != nil {
		view := in.tips.Snapshot()
		defer view.Close()
		var err error
		if check, err = secretlog.Compare(view, name); err != nil {
			check = nil // Open rebuilds the tip store
		}
	}
	options.Handle = func(m stored.Message) error {
		if newest = max(newest, m.Time); check == nil {
			return nil
		}
		return check.See(m)
	}
	if check != nil {
		check.Part = part
	}
	report, err := blocks.Verify(in.dir, streams.Account, name, options)
	if part && err == nil && readsAtStart(newest) {
		options.From = blocks.Place{}
		return in.readSide(name, folder, options, true)
	}
	if part { // the newest block may hold only marks of deleted messages
		report.Last = max(report.Last, index.Last)
	}
	if err != nil || check == nil || report.Kind > blocks.Torn {
		return report, err
	}
	seq, err := check.End()
	if errors.Is(err, tipstore.ErrDamaged) || err == nil {
		return report, nil
	}
	return report, in.damaged(name, seq, err.Error())
}
