// Package child runs this program's service as a process of its own, for a story that ends it in the middle of its work.
//
// A service ends by Kill or with the context of Serve, always as kill -9 ends it: the service promises to stand that (D8). On Linux
// it ends as well if the process that started it is killed.
package child
