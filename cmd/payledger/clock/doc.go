// Package clock is the service's clock: the machine's.
//
// With the build tag clockoffset the clock is ahead of the machine's, or behind it, by
// PAYLEDGER_TEST_CLOCK_OFFSET, a duration such as -1m30s. The test of faults builds such a program
// for nodes whose clocks differ. A program without the tag cannot be given a false time.
package clock
