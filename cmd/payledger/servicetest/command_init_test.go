package servicetest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/command"
	"payledger/cmd/payledger/options"
)

// TestInitFolder: init makes no ledger for production in a folder that serve would refuse.
func TestInitFolder(t *testing.T) {
	t.Parallel()
	var all command.CLI
	c := &all.Init
	c.Data, c.Environment, c.MasterKey, c.NewCluster = t.TempDir(), "production", strings.Repeat("0", 64), options.NewCluster{Replicas: 3}
	if err := c.Check(nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(c.Data, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := c.Check(nil); err == nil || !strings.Contains(err.Error(), "other users may change the data folder") {
		t.Errorf("init takes a folder of the mode 0777: %v", err)
	}
	c.Environment = "sandbox"
	if err := c.Check(nil); err != nil {
		t.Errorf("in the sandbox: %v", err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(c.Data, "events"), 0o700), os.WriteFile(filepath.Join(c.Data, "events", "LOCK"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	c.Data = filepath.Join(c.Data, "ledger")
	if err := c.Check(nil); err == nil || !strings.Contains(err.Error(), "above it holds one") {
		t.Errorf("init makes a ledger in the folder of another: %v", err)
	}
}
