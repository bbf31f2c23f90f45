// Package options has the flags of the service, checks them, and reads the secrets among them (I1).
//
// Rules:
//
//   - One error names every fault of the flags, before anything is written. No error repeats a
//     secret.
//   - Every flag has a kind (kinds.go, limitsOf), and every value is of its kind, in all commands:
//     nan, a URL with a script or a line feed is refused before anything is done. A test walks all
//     flags, so a new one cannot be forgotten.
//   - In production other users of the machine must not be able to change the data folder or to
//     read its master key (private.go).
//   - In production a secret must not be an argument of the process: every user of the machine can
//     read arguments. A secret comes from the environment or a file.
//   - In production --listen needs TLS unless it is a loopback address or --behind-proxy is set.
//
// The package must not know: the log, HTTP handlers, the order in which the service starts.
package options
