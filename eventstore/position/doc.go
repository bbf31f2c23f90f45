// Package position keeps the progress of a reader of the log, in memory and in the stream of positions.
//
// Only progress that is durable elsewhere counts: a reader calls Advance after the effects of events are durable. After a crash
// the events since the last write are read again, and their effects must not happen twice.
//
// The package must not know: what a reader does with events.
//
// # Place
//
//	outside       notifier
//	application   commands/workflows
//	log         ► position
//	log           eventstore
package position
