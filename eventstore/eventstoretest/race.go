//go:build race

package eventstoretest

import "testing"

const race = true

// LeftToWholeRun reports whether the test ends here, and logs it: in small runs under the race detector. Every run without
// -short has the whole test. It is for tests that show nothing more there and take much longer: of output, documents, tools, sizes and
// damaged files, where one thing runs after the other, and of processes that are killed before they could report a race.
func LeftToWholeRun(t testing.TB) bool {
	t.Helper()
	if testing.Short() {
		t.Log("NOT RUN: left to the whole run")
	}
	return testing.Short()
}
