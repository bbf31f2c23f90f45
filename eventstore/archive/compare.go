package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"payledger/eventstore/fault"
	"payledger/eventstore/folder"
	"payledger/eventstore/format"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/streams"
)

// readShard reads the segments of a shard, and checks that none is missing, and that each begins at
// the end of the one before it.
func (in *inspection) readShard(ctx context.Context, shard int, read func(name string) error) error {
	all := streams.Segments(shard, in.names)
	if in.seeksFloor(shard) {
		for _, name := range slices.Backward(all) { // a new one may have the record of the dropped ones, which the server was deleting
			if err := in.readStream(name); err != nil {
				return err
			}
		}
	}
	number, next := in.beginning(shard)
	for ; number <= in.newest[shard]; number++ {
		name := streams.Name(shard, number)
		if slices.Contains(all, name) {
			if err := read(name); err != nil {
				return err
			}
		}
		var err error
		if next, err = in.follow(ctx, name, next); err != nil {
			return err
		}
	}
	in.next[shard] = next
	return nil
}

// compareShards checks that the shards that were read reach the message that the tip store, the
// process, or groups of others name. The tip store may be from an earlier time as the stream
// itself; the groups are not.
func (in *inspection) compareShards() error {
	for _, shard := range slices.Sorted(maps.Keys(in.newest)) {
		if err := in.compareShard(shard); err != nil {
			return err
		}
	}
	return in.gone()
}

// gone checks that each stream that the process knows is there, and that each shard with an
// acknowledged message has a stream.
func (in *inspection) gone() error {
	for _, name := range slices.Sorted(maps.Keys(in.known)) {
		if !slices.Contains(in.names, name) && !in.wasDropped(name) {
			if err := in.missed(name, in.known[name], "the stream is gone"); err != nil {
				return err
			}
		}
	}
	for _, shard := range slices.Sorted(maps.Keys(in.ends)) {
		if in.newest[shard] == 0 {
			if err := in.compareShard(shard); err != nil {
				return err
			}
		}
	}
	return nil
}

func (in *inspection) compareShard(shard int) error {
	newest, required := in.newest[shard], in.ends[shard]
	if newest > 0 && in.wasDropped(streams.Name(shard, newest)) { // a newer one has come meanwhile
		return nil
	}
	number, first := in.beginning(shard)
	for newest > 0 && !in.there(streams.Name(shard, newest)) { // it was being created
		newest--
	}
	gone := fmt.Sprintf("the stream is gone; it was acknowledged up to %d", required)
	switch {
	case newest == 0 && required > 0:
		return in.missed(streams.Name(shard, number), first, gone)
	case newest == 0:
		return nil
	}
	name, next := streams.Name(shard, newest), in.next[shard]
	last := in.read[name].Last
	switch {
	case in.bad[name], next > required:
		return nil
	case last > 0 && last == in.closed[shard]:
		return in.missed(streams.Name(shard, newest+1), next, gone)
	}
	return in.missed(name, next, fmt.Sprintf("it ends here, but was acknowledged up to %d", required))
}

// beginning returns the number of a shard's oldest segment that was not dropped, and its first
// sequence. Dropped ones may be there, may have been read before their floor was found, or not.
func (in *inspection) beginning(shard int) (number uint32, first uint64) {
	return in.floors[shard].Segment + 1, in.floors[shard].Seq + 1
}

// follow checks that a segment exists and begins at a sequence. It returns the sequence after the
// segment. Either sequence is 0 if it is unknown.
func (in *inspection) follow(ctx context.Context, name string, next uint64) (uint64, error) {
	found, read := in.read[name]
	switch {
	case found.Unfinished: // it was being created
		return next, nil
	case in.wasDropped(name): // while it was read
		return 0, nil
	case !read:
		return 0, in.missed(name, next, "the stream is gone")
	}
	d, err := folder.Describe(in.dir, name)
	if err != nil {
		return 0, in.missed(name, 1, err.Error())
	}
	if err := in.continues(ctx, name, next, d.First); err != nil {
		return 0, err
	}
	if in.bad[name] {
		return 0, nil
	}
	return max(next, d.First, found.Last+1), nil
}

// continues checks that a segment begins where the one before it ends, given the sequence after
// that; 0: it is unknown. In SECRETS the files do not show the end of a segment: the server removes
// destroyed records at its end, and an empty segment may begin before it.
func (in *inspection) continues(ctx context.Context, name string, next, first uint64) error {
	shard, _, _ := streams.Parse(name)
	switch {
	case next == 0, first == next, in.later(shard, first), first < next && streams.KindOf(shard).Destroys:
		return nil
	case streams.KindOf(shard).Destroys:
		return in.unnamed(ctx, first-1)
	}
	return in.missed(name, first, fmt.Sprintf("it begins here, but the segment before ends at %d", next-1))
}

// unnamed checks that a destruction names each missing record of SECRETS up to a sequence. A
// rotation may drop segments of a running server meanwhile.
func (in *inspection) unnamed(ctx context.Context, through uint64) error {
	stream, missing, err := secretlog.Unnamed(ctx, in.dir, through)
	for in.live != nil && errors.Is(err, fs.ErrNotExist) {
		stream, missing, err = secretlog.Unnamed(ctx, in.dir, through)
	}
	if err != nil || missing == 0 {
		return fault.Report(err, in.missed)
	}
	return in.missed(stream, missing, "the record is missing, and no destruction names it")
}

// wasDropped reports whether a stream is a dropped segment that is not removed yet.
func (in *inspection) wasDropped(name string) bool {
	shard, number, _ := streams.Parse(name)
	return number <= max(in.floors[shard].Segment, in.floor(shard).Segment)
}

// seeksFloor reports whether the first segments of a shard that drops some are gone, and the tip
// store has no floor that covers them. Then the remaining records must contain the floor.
func (in *inspection) seeksFloor(shard int) bool {
	return in.oldest[shard] > in.floors[shard].Segment+1
}

func (in *inspection) noteFloors(g *format.Group) error {
	for _, r := range g.Frames {
		f, err := streams.KindOf(g.Shard).FloorIn(r)
		if err != nil {
			return err
		}
		in.noteFloor(g.Shard, f)
	}
	return nil
}

func (in *inspection) noteFloor(shard int, f streams.Floor) {
	if f.Segment > in.floors[shard].Segment {
		in.floors[shard] = f
	}
}
