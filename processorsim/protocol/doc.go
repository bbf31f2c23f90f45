// Package protocol holds what both ends of the processor protocol and of the control API say on the
// wire (D14), beyond the values of domain/processor: paths, headers, raw codes, the line of the books,
// the fault, the notification, the error body.
//
// What it must not know: HTTP servers and clients, files, clocks. The endpoints themselves are described
// in package processorsim.
//
// Design note: a package of its own, so that the client does not link the server.
package protocol
