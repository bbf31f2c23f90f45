package deploy_test

import (
	"os"
	"os/exec"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// TestYardstick runs the tests of deploy/yardstick, a module of its own.
func TestYardstick(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	environment := append(os.Environ(), "GOWORK=off")
	download := exec.CommandContext(t.Context(), "go", "mod", "download")
	download.Dir, download.Env = "yardstick", environment
	if said, err := download.CombinedOutput(); err != nil {
		toolMissing(t, string(said))
		return
	}
	tests := exec.CommandContext(t.Context(), "go", "test", "-v", "./...")
	tests.Dir, tests.Env = "yardstick", environment
	said, err := tests.CombinedOutput()
	t.Logf("%s", said)
	if err != nil {
		t.Error(err)
	}
}
