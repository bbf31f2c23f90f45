// Package timers runs functions later on an injected clock, and ends all of them at once. The
// connectors and the simulator of processors use it for retries of notifications, and for
// operations that end by themselves.
//
// It must not know: what the functions do.
package timers
