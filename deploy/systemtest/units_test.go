//go:build system

package systemtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"payledger/domain/childtest"
)

// maxExposure is the exposure, times 10, that systemd-analyze may find in a unit. Services without
// hardening have 96.
const maxExposure = "15"

// TestUnits: systemd takes the units, and finds them hardened.
func TestUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		toolMissing(t, "systemd-analyze is not installed")
		return
	}
	units, err := filepath.Glob("../systemd/*.service")
	if err != nil || len(units) != 2 {
		t.Fatalf("the units are %v, %v", units, err)
	}
	dir := t.TempDir()
	binary := regexp.MustCompile(`/usr/local/bin/[a-z-]+`)
	analyze := func(args ...string) (string, error) {
		said, err := childtest.Tied(exec.Command("systemd-analyze", args...)).CombinedOutput()
		return string(said), err
	}
	copied := func(unit string, change func(string) string) string {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, filepath.Base(unit))
		if err := os.WriteFile(file, []byte(change(binary.ReplaceAllString(string(text), "/bin/true"))), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	same := func(text string) string { return text }
	for _, unit := range units { // all are there before one is checked: they name each other
		copied(unit, same)
	}
	for _, unit := range units {
		file := copied(unit, same)
		if said, err := analyze("verify", "--man=no", file); err != nil || said != "" {
			t.Errorf("%s: %v, %s", unit, err, said)
		}
		if said, err := analyze("security", "--offline=true", "--no-pager", "--threshold="+maxExposure, file); err != nil {
			t.Errorf("%s: %v, %s", unit, err, said)
		}
		copied(unit, func(text string) string {
			return regexp.MustCompile(`(?m)^(Protect|Restrict|System|Private).*\n`).ReplaceAllString(text, "")
		})
		if _, err := analyze("security", "--offline=true", "--no-pager", "--threshold="+maxExposure, file); err == nil {
			t.Errorf("%s without hardening passes", unit)
		}
		copied(unit, func(text string) string { return text + "\n[Service]\nProtectHmoe=yes\n" })
		if said, _ := analyze("verify", "--man=no", file); said == "" {
			t.Errorf("an unknown setting in %s passes", unit)
		}
		copied(unit, same)
	}
}
