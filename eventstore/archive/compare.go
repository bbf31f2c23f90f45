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
// one before it, and that the newest one reaches the group that others name.
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
	for newest > 0 && !in.there(streams.Name(shard, newest)) { // it was being created
		newest--
	}
	gone := fmt.Sprintf("the stream is gone; it was acknowledged up to %d", required)
	switch {
	case newest == 0 && required > 0:
		return in.missed(streams.Name(shard, 1), 1, gone)
	case newest == 0:
		return nil
	}
	var err error
	number, next := in.beginning(shard)
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
	if next > 0 && d.First != next {
		if err := in.missed(name, d.First, fmt.Sprintf("it begins here, but the segment before ends at %d", next-1)); err != nil {
			return 0, err
		}
	}
	if in.bad[name] {
		return 0, nil
	}
	return max(d.First, in.read[name].Last+1), nil
}

// compareSecrets checks that no segment of SECRETS is missing, and that each reaches the message
// that the tip store or the groups of the log name. The tip store may be from an earlier time as
// SECRETS itself; the groups are not.
func (in *inspection) compareSecrets() error {
	for number := in.firstSecrets; number < in.newestSecrets; number++ {
		if name := streams.SecretSegment(number); !in.there(name) {
			if err := in.missed(name, in.required[name], "the stream is gone"); err != nil {
				return err
			}
		}
	}
	last := uint64(0)
	for name, found := range in.read {
		if streams.IsSecrets(name) {
			last = max(last, found.Last)
		}
	}
	newest := streams.SecretSegment(max(in.newestSecrets, 1))
	if last < in.secrets {
		reason := fmt.Sprintf("it ends here, but the log names its record %d", in.secrets)
		if !in.there(newest) {
			reason = fmt.Sprintf("the stream is gone; the log names its record %d", in.secrets)
		}
		if err := in.missed(newest, last+1, reason); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in.required)) {
		required, found := in.required[name], in.read[name]
		if found.Last >= required && in.there(name) || in.wasDropped(name) {
			continue
		}
		seq, reason := found.Last+1, fmt.Sprintf("it ends here, but was acknowledged up to %d", required)
		if !in.there(name) {
			seq, reason = required, "the stream is gone"
		}
		if err := in.missed(name, seq, reason); err != nil {
			return err
		}
	}
	return nil
}

// wasDropped reports whether a stream is a dropped segment that is not removed yet: of a shard, or
// of SECRETS after a rotation of the master key.
func (in *inspection) wasDropped(name string) bool {
	shard, number, ours := streams.Parse(name)
	return ours && number <= in.floors[shard].Segment ||
		streams.IsSecrets(name) && streams.SecretNumber(name) < in.firstSecrets
}

// seeksFloor reports whether the first segments of a shard that drops some are gone, and the tip
// store has no floor that covers them. Then the remaining records must contain the floor.
func (in *inspection) seeksFloor(shard int) bool {
	return in.oldest[shard] > in.floors[shard].Segment+1
}

func (in *inspection) noteFloor(g *format.Group) error {
	for _, r := range g.Frames {
		f, err := streams.KindOf(g.Shard).FloorIn(r)
		if err != nil {
			return err
		}
		if f.Segment > in.floors[g.Shard].Segment {
			in.floors[g.Shard] = f
		}
	}
	return nil
}
