// Package systemtest holds the tests of whole systems, in one folder for each kind. They start
// processes, clusters and browsers, and take minutes. They have the build tag system:
//
//	go test -tags system -p 1 ./cmd/payledger/systemtest/...
//
// The seeds are fixed. PAYLEDGER_TEST_SEED=clock takes seeds from the clock for long runs; a test
// prints its seed and the command that repeats it (package seedtest).
package systemtest
