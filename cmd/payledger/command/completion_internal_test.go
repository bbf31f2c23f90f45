package command

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"payledger/cmd/payledger/terminal"
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
		got := following(model(t), words(t, line))
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
	var out strings.Builder
	if err := (&completionCommand{Shell: candidates}).Run(terminal.Streams{Out: &out}); err != nil || out.String() != "export\n" {
		t.Errorf("in the middle of a line: %q, %v", out.String(), err)
	}
	for _, line := range []string{"", "payledger", "payledger "} {
		t.Setenv("COMP_POINT", "")
		if got := following(model(t), words(t, line)); !slices.Contains(got, "serve") || slices.Contains(got, candidates) {
			t.Errorf("%q is followed by %q", line, got)
		}
	}
}

func model(t *testing.T) *kong.Node {
	t.Helper()
	line, err := newCommandLine()
	if err != nil {
		t.Fatal(err)
	}
	return line.Model.Node
}

func words(t *testing.T, line string) []string {
	t.Helper()
	t.Setenv("COMP_LINE", line)
	return typed()
}

// TestCompletionScript: bash takes the printed lines, and then completes the program's commands
// with them.
func TestCompletionScript(t *testing.T) {
	out, err := exec.Command("bash", "-c", completions["bash"]+"complete -p payledger").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "'payledger completion candidates' payledger") {
		t.Errorf("%v: %s", err, out)
	}
}
