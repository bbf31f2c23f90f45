// Package applied is a shard's memory of the groups that it has applied: the newest events of
// aggregates until the tip store has them (Tips), the times of the events in stretches of groups,
// and the newest groups for readers (Groups). It does not read the log, and of the tip store only
// the times at a start. The caller guards it with a lock.
//
// # Times
//
// A shard of events has at most 8,192 stretches of the same number of groups, with the least and
// the greatest time in each. The tip store has a row for each stretch, so a start reads no group
// for them. A tip store whose times do not end with its events is damaged, and made again from the
// log. A reader of a window reads the stretches that may have an event of the window, and so up to
// 1/4,096 of the shard beside the window at each end. Reasons:
//
//   - Times rise only roughly, and the clock of a node may be wrong by days. Halving the log by the
//     times of single events missed events beside such a while, and events with wrong times.
//   - The greatest time before a place and the least time behind it are monotonic, and a search
//     over them is right. But after one event that is a year ahead, a window of that year begins at
//     this event. A stretch makes only itself wider.
//
// The package must not know: JetStream, and how a group became an acknowledged one. Its tests with
// a tip store stand in tipstore/tipfiles.
//
// # Place
//
//	log           engine
//	shards      ► applied
//	shards        tiprow
//	storage       tipstore
//	bytes         format
package applied
