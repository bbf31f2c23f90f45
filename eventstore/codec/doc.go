// Package codec writes and reads the values that the log stores: msgpack, the same bytes for the
// same value.
//
// Maps have their keys sorted by bytes. Structs have their fields in the order of the Go type,
// named by the json tag. Integers have the shortest form. Times are msgpack's own timestamps.
// Absent values take no bytes (I2).
//
// A reader trusts no length: Unmarshal walks over the whole value first. A damaged length of four
// gigabytes made the msgpack library allocate four gigabytes.
//
// The package knows nothing of events, aggregates and streams.
//
// # Place
//
//	outside       notifier, projections
//	application   commands/users, secrets
//	log           eventstore, position, verify
//	storage       streams
//	bytes         format
//	bytes       ► codec
package codec
