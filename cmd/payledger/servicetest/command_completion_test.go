package servicetest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestCompletion: the words that may follow are commands, flags of the command and of those above
// it, and the values of a flag or an argument that has a list of them; of other values the shell
// completes files.
func TestCompletion(t *testing.T) {
	for line, want := range map[string][]string{
		"payledger ver":                               {"verify", "version"},
		"payledger payments ":                         {"list", "show"},
		"payledger payments show --js":                {"--json"},
		"payledger export --format ":                  {"csv", "jsonl", "parquet", "sqlite"},
		"payledger export --format p":                 {"parquet"},
		"payledger export --out ":                     {},
		"payledger export --once --format c":          {"csv"},
		"payledger completion ":                       {"bash", "fish", "zsh"},
		"payledger help recon":                        {"reconcile"},
		"payledger nothing-of-this --":                {"--help"},
		"payledger payments list --order --status --": nil,
	} {
		got := completed(t, line)
		if want == nil {
			if !slices.Contains(got, "--limit") {
				t.Errorf("%q is followed by %q", line, got)
			}
			continue
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q is followed by %q, want %q", line, got, want)
		}
	}
	t.Setenv("COMP_LINE", "payledger export --format csv")
	t.Setenv("COMP_POINT", "15")
	if status, out, errs := runCommand([]string{"completion", "candidates"}); status != 0 || out != "export\n" {
		t.Errorf("in the middle of a line: %d %q %s", status, out, errs)
	}
	for _, line := range []string{"", "payledger", "payledger "} {
		t.Setenv("COMP_POINT", "")
		if got := completed(t, line); !slices.Contains(got, "serve") || slices.Contains(got, "candidates") {
			t.Errorf("%q is followed by %q", line, got)
		}
	}
}

// completed returns the words that the program offers at the end of a command line.
func completed(t *testing.T, line string) []string {
	t.Helper()
	t.Setenv("COMP_LINE", line)
	status, out, errs := runCommand([]string{"completion", "candidates"})
	if status != 0 {
		t.Fatal(status, errs)
	}
	return strings.Fields(out)
}

// TestCompletionScript: bash takes the printed lines, and then completes the program's commands
// with them.
func TestCompletionScript(t *testing.T) {
	status, script, errs := runCommand([]string{"completion", "bash"})
	if status != 0 {
		t.Fatal(status, errs)
	}
	out, err := exec.Command("bash", "-c", script+"complete -p payledger").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "'payledger completion candidates' payledger") {
		t.Errorf("%v: %s", err, out)
	}
	for shell, binds := range map[string]string{"zsh": "complete -o default -C 'payledger completion candidates' payledger", "fish": "complete --command payledger --arguments '(__payledger_candidates)'"} {
		if status, script, errs := runCommand([]string{"completion", shell}); status != 0 || !strings.Contains(script, binds) {
			t.Errorf("%s: %d %s%s", shell, status, script, errs)
		}
	}
}
