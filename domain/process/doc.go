// Package process holds the process managers: pure functions from a payment's state to the next
// call to a processor. The caller makes the call and records its outcome. The same code runs after
// a request, a crash and a timeout (D8).
package process
