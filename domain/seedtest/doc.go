// Package seedtest gives tests their seeds. A test run has the same seeds each time, so a failure
// is repeated by the same command.
//
// The variable PAYLEDGER_TEST_SEED changes that: a number is the seed of every test; with "clock"
// each test takes a seed from the clock, as long runs should. The test's log has the seed and the
// command that repeats it, with the test's own flags and the tag "system".
//
// Rules: a test takes a seed from Seed, and checks a property of package rapid with Check. A flag
// of a test that sets its seed, and rapid's own -rapid.seed, come first. A house test looks for
// other ways.
//
// A test of thousands of cases takes a sample of them where Sampled is true. The whole test runs
// with the build tag system:
//
//	go test -tags system ./eventstore/commands/payments
//
// The cases of a long whole-system test take turns with Turn if the variable PAYLEDGER_TEST_PART
// has the number of a run: .ci/run takes it from the commit's hash, and prints it. Without the
// variable all cases run.
//
// The package must not know: anything of payledger.
package seedtest
