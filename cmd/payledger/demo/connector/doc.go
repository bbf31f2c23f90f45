// Package connector starts the program of a connector for a story, checks it, and stands between it
// and the service, so that an answer can be lost.
//
// The program is one of package processorsim/connector/program, or it starts in the same way: with
// --data and --listen, the token and the secret in the environment, and a ready line with the
// processor's name and address. It ends with the story, as kill -9 ends it: a connector stands
// that.
//
// The package must not know: a vendor.
package connector
