package archive

import (
	"context"

	"payledger/eventstore/streams"
	"payledger/eventstore/tipstore"
)

// InspectWith inspects a folder with a tip store of another place.
func InspectWith(dir string, tips *tipstore.Store, report Damaged) error {
	in := inspection{dir: dir, tips: tips, report: report}
	return in.run(context.Background())
}

// CompareSecrets compares SECRETS, of which no segment is left, with its newest record that groups
// of the log or the tip store name, given the dropped part.
func CompareSecrets(named uint64, dropped streams.Floor, report Damaged) error {
	in := inspection{
		ends: map[int]uint64{streams.SecretShard: named}, floors: map[int]streams.Floor{streams.SecretShard: dropped}, report: report, bad: map[string]bool{},
	}
	return in.compareShards()
}

// Beginning returns the first segment of a shard that an inspection requires, with its first
// sequence, given the dropped part and the oldest segment.
func Beginning(shard int, dropped uint32, through uint64, oldest uint32) (number uint32, first uint64) {
	in := inspection{oldest: map[int]uint32{shard: oldest}, floors: map[int]streams.Floor{shard: {Segment: dropped, Seq: through}}}
	return in.beginning(shard)
}
