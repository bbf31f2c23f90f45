// Package cache keeps values in memory, bounded by their size.
//
// # Rules
//
//   - A cache has two generations. When the newer one is full it becomes the older one, and the
//     previous older one is dropped. A value that is used again enters the newer generation.
//   - A value never replaces a newer one of its key. A looked-up value enters only if no generation
//     was dropped since the look-up began, because a newer value may have been dropped with it.
//
// The package must not know: events, groups and checkpoints.
//
// # Place
//
//	application   commands/workflows
//	log           engine, verify
//	shards        checkpointlog
//	bytes       ► cache
package cache
