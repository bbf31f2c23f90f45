// Package protocol holds the messages of the processor protocol and of the control API (D14.1),
// beyond the values of domain/processor: paths, headers, codes, lines of the books, faults,
// notifications, words of disputes, error bodies.
//
// It must not know: HTTP servers and clients, files, clocks. Package simulator describes the
// endpoints.
//
// Design note: adapter and simulator import this package and never each other, so the service does
// not link the server.
package protocol
