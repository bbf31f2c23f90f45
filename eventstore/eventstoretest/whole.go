package eventstoretest

import "testing"

// LeftToWholeRun reports whether the test ends here, and logs it: with -short, as under the race
// detector. Every run without -short has the whole test. It is for tests that show nothing more
// under the race detector and take long: of output, documents, tools, sizes and damaged files,
// where one thing runs after the other, of code that a test beside it runs with another server, and
// of processes that are killed before they could report a race. Tests with a browser have the build
// tag !race, so that its packages need not be compiled for the race detector.
func LeftToWholeRun(t testing.TB) bool {
	t.Helper()
	if testing.Short() {
		t.Log("NOT RUN: left to the whole run")
	}
	return testing.Short()
}
