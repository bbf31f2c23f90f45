package archive

import (
	"fmt"
	"maps"
	"slices"

	"payledger/eventstore/folder"
	"payledger/eventstore/format"
	"payledger/eventstore/streams"
)

// compareShards checks that no segment of a shard is missing, that each begins at the end of the
// one before it, and that the newest one reaches the message that the tip store or groups of others
// name. The tip store may be from an earlier time as the stream itself; the groups are not.
func (in *inspection) compareShards() error {
	shards := slices.Collect(maps.Keys(in.newest))
	for shard := range in.ends {
		if in.newest[shard] == 0 {
			shards = append(shards, shard)
		}
	}
	slices.Sort(shards)
	for _, shard := range shards {
		if err := in.compareShard(shard); err != nil {
			return err
		}
	}
	return nil
}

func (in *inspection) compareShard(shard int) error {
	newest, required := in.newest[shard], in.ends[shard]
	number, next := in.beginning(shard)
	for newest > 0 && !in.there(streams.Name(shard, newest)) { // it was being created
		newest--
	}
	gone := fmt.Sprintf("the stream is gone; it was acknowledged up to %d", required)
	switch {
	case newest == 0 && required > 0:
		return in.missed(streams.Name(shard, number), next, gone)
	case newest == 0:
		return nil
	}
	var err error
	for ; number <= newest && err == nil; number++ {
		next, err = in.follow(streams.Name(shard, number), next)
	}
	name := streams.Name(shard, newest)
	last := in.read[name].Last
	switch {
	case err != nil, in.bad[name], next > required:
		return err
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
func (in *inspection) follow(name string, next uint64) (uint64, error) {
	if !in.there(name) {
		return 0, in.missed(name, next, "the stream is gone")
	}
	d, err := folder.Describe(in.dir, name)
	if err != nil {
		return 0, in.missed(name, 1, err.Error())
	}
	if next > 0 && (d.First > next || d.First < next && !streams.KindIn(name).Destroys) { // an empty one of SECRETS may be older than the end of the one before
		if err := in.missed(name, d.First, fmt.Sprintf("it begins here, but the segment before ends at %d", next-1)); err != nil {
			return 0, err
		}
	}
	if in.bad[name] {
		return 0, nil
	}
	return max(next, d.First, in.read[name].Last+1), nil
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
