// Package events serves the calls of analysts: the events of the caller's account in the order of
// positions, in pages and as a stream (I2).
//
// The package must not know: how an event is read and rendered, how an answer is written.
package events
