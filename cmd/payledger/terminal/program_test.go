package terminal

import (
	"strings"
	"testing"
)

// TestStarted: a hint names the program as it was started. `go run` is known by the folders in
// which it builds.
func TestStarted(t *testing.T) {
	t.Parallel()
	inCache := "/cache/27/" + strings.Repeat("0a", 32) + "-d/payledger"
	for name, want := range map[string]string{
		"payledger": "payledger", "./payledger": "./payledger", "/usr/local/bin/payledger": "/usr/local/bin/payledger", "exe/payledger": "exe/payledger",
		"/var/go-build3209524530/b001/exe/payledger": fromSource, inCache: fromSource,
		"/src/go-build/payledger": "/src/go-build/payledger", "/opt/exe/payledger": "/opt/exe/payledger",
	} {
		if got := started(name); got != want {
			t.Errorf("%s is %q, expected %q", name, got, want)
		}
	}
}
