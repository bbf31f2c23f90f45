// Package protocol holds the messages of the processor protocol and of the control API (D14.1),
// beyond the values of domain/processor: paths, headers, codes, lines of the books, faults,
// notifications, error bodies. processorsim/PROTOCOL.md explains the protocol,
// openapi.yaml has its messages for machines; tests compare both with the Go types.
//
// It must not know: HTTP servers and clients, files, clocks.
//
// Design note: adapter and simulator import this package and never each other, so the service does
// not link the server.
package protocol
