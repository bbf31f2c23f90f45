package homepages

import "testing"

// TestGrown: the change of a number is a percentage with its direction. A large one has grouped
// digits.
func TestGrown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		now, before float64
		want        string
	}{
		{0, 0, ""}, {5, 0, "none before"}, {5, 5, "unchanged"}, {11, 10, "▲ 10.0 %"}, {9, 10, "▼ 10.0 %"}, {109.99, 10, "▲ 999.9 %"}, {110, 10, "▲ 1,000 %"},
		{999_480, 640, "▲ 156,069 %"}, {1e30, 1, "▲ 1,000,000,000,000,000 %"},
	} {
		var f figure
		if f.grown(c.now, c.before); f.Change != c.want {
			t.Errorf("%v after %v is %q, want %q", c.now, c.before, f.Change, c.want)
		}
	}
}
