// Package systemtest holds the tests of whole systems, in one folder for each kind. They start
// processes, clusters and browsers, and take minutes. They have the build tag system:
//
//	go test -tags system -p 1 ./cmd/payledger/systemtest/...
//
// The crash matrices of the ledger together with a connector are in the connectors' own modules:
//
//	cd deploy/connectors/stripe && go test -tags system -count=1 -timeout 90m -v -run TestMatrix .
//	cd deploy/connectors/adyen && go test -tags system -count=1 -timeout 90m -v -run TestMatrix ./api
//
// The seeds are fixed. PAYLEDGER_TEST_SEED=clock takes seeds from the clock for long runs; a test
// prints its seed and the command that repeats it (package seedtest). .ci/run plays a part of the
// cases of the longest tests for each commit; without PAYLEDGER_TEST_PART all of them run.
package systemtest
