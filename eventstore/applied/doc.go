// Package applied is a shard's memory of the groups that it has applied: the newest events of
// aggregates until the tip store has them (Tips), and the newest groups for readers (Groups). It
// reads neither the log nor the tip store. The caller guards it with a lock.
//
// The package must not know: JetStream, and how a group became an acknowledged one. Its tests with
// a tip store stand in tipstore/tipfiles.
//
// # Place
//
//	log           engine
//	streams     ► applied
//	streams       deliverylog, tiprow, tipstore
//	bytes         format
package applied
