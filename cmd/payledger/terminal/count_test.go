package terminal

import "testing"

// TestCount: one thing is singular, any other number of things plural.
func TestCount(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"1 payment": Count(1, "payment"), "0 payments": Count(0, "payment"), "2 payments": Count(uint64(2), "payment"),
		"1 entry": Count(1, "entry"), "3 entries": Count(int64(3), "entry"), "2 keys": Count(2, "key"),
		"1 has no answer": Count(1, "has no answer", "have no answer"), "0 have no answer": Count(0, "has no answer", "have no answer"),
	} {
		if got != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
}
