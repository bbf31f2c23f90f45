package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPayledgerCommand: payledger-command runs a command with the user, the data folder, the
// settings and the master key of the unit. RUNBOOK.md runs commands of the unit's folder with it.
func TestPayledgerCommand(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("systemd/payledger-command")
	if err != nil {
		t.Fatal(err)
	}
	bin, settings := t.TempDir(), t.TempDir()
	for file, text := range map[string]string{
		filepath.Join(bin, "systemd-run"): "#!" + sh + "\nfor one in \"$@\"; do printf '%s\\n' \"$one\"; done\n", filepath.Join(settings, "master-key"): "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(sh, script, "account", "create", "Second shop")
	command.Env = []string{"PATH=" + bin, "CONFIGURATION_DIRECTORY=" + settings}
	said, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	run := strings.Split(strings.TrimSuffix(string(said), "\n"), "\n")
	if program := run[max(0, len(run)-4):]; !slices.Equal(program, []string{"/usr/local/bin/payledger", "account", "create", "Second shop"}) {
		t.Errorf("it runs %q", program)
	}
	unit, err := os.ReadFile("systemd/payledger.service")
	if err != nil {
		t.Fatal(err)
	}
	const secrets = "/run/credentials/payledger-command.service"
	as := strings.NewReplacer("%S", "/var/lib", "%d", secrets, "/etc/payledger", settings)
	for _, name := range []string{"DynamicUser", "User", "StateDirectory", "StateDirectoryMode", "UMask", "EnvironmentFile", "LoadCredential"} {
		set := regexp.MustCompile(`(?m)^` + name + `=(.*)$`).FindStringSubmatch(string(unit)) // of several the first one
		if set == nil {
			t.Fatalf("the unit does not set %s", name)
		}
		want := name + "=" + as.Replace(set[1])
		if !slices.ContainsFunc(run, func(arg string) bool {
			return arg == want || name == "StateDirectory" && strings.HasPrefix(arg, want+" ")
		}) {
			t.Errorf("the unit has %s, the command runs with %q", want, run)
		}
	}
	for _, name := range []string{"PAYLEDGER_DATA", "PAYLEDGER_MASTER_KEY_FILE", "TMPDIR"} {
		set := regexp.MustCompile(`(?m)^Environment=.*\b` + name + `=(\S+)`).FindStringSubmatch(string(unit))
		if set == nil || !slices.Contains(run, name+"="+as.Replace(set[1])) {
			t.Errorf("the unit sets %s to %q, the command runs with %q", name, set, run)
		}
	}
	if !slices.Contains(run, "--unit=payledger-command") {
		t.Errorf("its secrets are not in %s: %q", secrets, run)
	}
	runbook, err := os.ReadFile("RUNBOOK.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"backup --out", "rotate-master-key", "account create"} {
		if !strings.Contains(string(runbook), "payledger-command "+command) {
			t.Errorf("RUNBOOK.md does not say how %s runs with the unit", command)
		}
	}
}
