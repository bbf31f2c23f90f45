// Package control carries commands to the running service of a data folder (I1).
//
// The service listens on a Unix socket in its data folder, control.sock. Only the user of the
// service can open it (mode 0600): a command over the socket needs no API key and sees all
// accounts. The protocol is HTTP. A command is a POST with a JSON body. The answer is a stream of
// JSON lines: {"line": …} for each result, as soon as there is one, and at the end {"done": …} or
// {"error": "…"}. An answer without an end is incomplete.
//
// # Rules
//
//   - Only the process that holds the lock of the data folder listens. It replaces a socket that a
//     killed service left.
//   - If no process listens on the socket, the client concludes that the service is stopped.
//   - The path of a socket has at most about 108 bytes. Linux gives each open folder a short path,
//     /proc/self/fd/N, and both sides use it if the path of the data folder is longer. So a service
//     that is killed leaves nothing outside its data folder.
//   - Where a system has no such paths, the socket of a long path is in a private temporary folder,
//     and control.sock is a symbolic link to it. The answer of a service names its folder, so a
//     client that follows the link of a copied folder detects the wrong service.
//
// The package must not know: what the commands do.
package control
