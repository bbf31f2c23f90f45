//go:build !race

package eventstoretest

import "testing"

const race = false

// LeftToWholeRun reports whether the test ends here: only in small runs under the race detector.
func LeftToWholeRun(testing.TB) bool { return false }
