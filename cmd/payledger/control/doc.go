// Package control carries commands to the running service of a data folder (I1).
//
// The service listens on a Unix socket in its data folder, control.sock. Only the user of the service can open it (mode 0600):
// a command over the socket needs no API key and sees all accounts. The protocol is HTTP. A command is a POST with a JSON body.
// The answer is a stream of JSON lines: {"line": …} for each result, as soon as there is one, and at the end {"done": …} or
// {"error": "…"}. An answer without an end is incomplete.
//
// # Rules
//
//   - Only the process that holds the data folder listens. It replaces a socket that a killed service left.
//   - A client takes a socket that nobody listens on for a stopped service.
//   - A path of a socket has about 108 bytes at most. Where the folder's path is longer, the socket is in a private temporary
//     folder, and control.sock is a symbolic link to it. The answer of a service names its folder, so that a client that follows
//     the link of a copied folder notices the wrong service.
//
// What it must not know: what the commands do.
package control
