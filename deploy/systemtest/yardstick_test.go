//go:build system

package systemtest

import (
	"os"
	"os/exec"
	"testing"

	"payledger/domain/childtest"
)

// TestYardstick runs the tests of deploy/yardstick, a module of its own.
func TestYardstick(t *testing.T) {
	environment := append(os.Environ(), "GOWORK=off")
	download := childtest.Tied(exec.CommandContext(t.Context(), "go", "mod", "download"))
	download.Dir, download.Env = "../yardstick", environment
	if said, err := download.CombinedOutput(); err != nil {
		toolMissing(t, string(said))
		return
	}
	tests := childtest.Tied(exec.CommandContext(t.Context(), "go", "test", "-v", "./..."))
	tests.Dir, tests.Env = "../yardstick", environment
	said, err := tests.CombinedOutput()
	t.Logf("%s", said)
	if err != nil {
		t.Error(err)
	}
}
