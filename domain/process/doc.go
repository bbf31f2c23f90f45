// Package process holds the process managers: given a state, the next call to a processor. They are pure. The caller
// makes the call and records its outcome; after a request, a crash or a timeout it runs the same code (D8).
package process
