// Package child runs this program's service as a process of its own, for a story that ends it in
// the middle of its work.
//
// A service ends by Kill or with the context of Serve, always as kill -9 ends it: the service
// promises to stand that (D8). It is in a process group of its own: Ctrl-C and the end of a
// terminal reach the process that started it, which ends it. On Linux it ends as well if that
// process is killed.
package child
