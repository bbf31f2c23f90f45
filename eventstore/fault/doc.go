// Package fault has the errors that the packages of the log share. Package eventstore exports them
// under the same names.
//
// A damaged log is reported with its stream, the sequence, and the advice to copy the folder: the
// reader is an operator (D3). The package knows no server, no file and no event.
//
// # Place
//
//	log           engine, eventstore
//	servers       archive, backup, remote
//	shards        checkpointlog, deliverylog, secretlog
//	storage       folder, jetapi, tipstore
//	bytes         checkpoint
//	bytes       ► fault
package fault
