package main

import "testing"

// TestMemorySize: sizes are read with their units, and nothing else is.
func TestMemorySize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]memorySize{"512MiB": 512 << 20, "4GiB": 4 << 30, "1 TiB": 1 << 40, "300000000": 300000000, "0": 0, "768MB": 768_000_000} {
		var m memorySize
		if err := m.UnmarshalText([]byte(text)); err != nil || m != want {
			t.Errorf("%q: %d, %v", text, m, err)
		}
	}
	for _, text := range []string{"", "GiB", "-1", "1.5GiB", "99999999999TiB", "much"} {
		var m memorySize
		if err := m.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %d", text, m)
		}
	}
}

// TestMemoryBounds: the caches follow the memory within their bounds.
func TestMemoryBounds(t *testing.T) {
	t.Parallel()
	for limit, want := range map[memorySize]int64{256 << 20: minCaches, 4 << 30: 256 << 20, 1 << 40: maxCaches} {
		if m := memoryOf(limit); m.Limit != int64(limit) || m.Caches != want {
			t.Errorf("%d: %+v", limit, m)
		}
	}
	if m := memoryOf(0); m.Limit < 100<<20 || m.Limit > available() {
		t.Errorf("by default %+v of %d", m, available())
	}
}
