package archive

import "payledger/eventstore/tipstore"

// InspectWith inspects a folder with a tip store of another place.
func InspectWith(dir string, tips *tipstore.Store, report Damaged) error {
	in := inspection{dir: dir, tips: tips, report: report}
	return in.run()
}

// Beginning returns the first segment of a shard that an inspection requires, with its first
// sequence, given the dropped part of deliveries and the oldest segment.
func Beginning(shard int, dropped uint32, through uint64, oldest uint32) (number uint32, first uint64) {
	in := inspection{oldest: oldest}
	in.floor.Segment, in.floor.Seq = dropped, through
	return in.beginning(shard)
}
