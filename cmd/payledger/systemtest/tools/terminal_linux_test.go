//go:build system

package tools

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/terminal/terminaltest"
	"payledger/domain/childtest"
	"payledger/eventstore/eventstoretest"
)

// onTerminal runs serve on a pseudo terminal until it has said that it is ready, and returns all
// that it said.
func onTerminal(t *testing.T, environment []string, args ...string) string {
	t.Helper()
	outer, inner := terminaltest.Open(t, 120)
	command := childtest.Tied(exec.Command(os.Args[0], append([]string{"serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, args...)...))
	command.Env = append(append(os.Environ(), apptest.AsProgram+"=1", "TERM=xterm", "NO_COLOR="), environment...)
	command.Stdout, command.Stderr = inner, inner
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(apptest.StartTimeout, func() { command.Process.Kill() })
	defer stuck.Stop()
	inner.Close()
	said, interrupted := "", false
	for lines := bufio.NewScanner(outer); lines.Scan(); { // the end of a terminal is an error of the read
		said += lines.Text() + "\n"
		if ready := strings.Contains(said, "Ctrl-C stops it.") || strings.Contains(said, `"ready":true`); ready && !interrupted {
			interrupted = true
			if err := command.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := command.Wait(); err != nil || !interrupted {
		t.Fatalf("serve ends with %v:\n%s", err, said)
	}
	return said
}

// colour begins every change of a terminal's colour.
const colour = "\x1b["

// TestTerminal checks that on a terminal the log, the credentials and the ready line are for
// people, and that NO_COLOR and --log-format are obeyed (I1).
func TestTerminal(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	for _, c := range []struct {
		name                string
		environment, args   []string
		people, colours     bool
		peopleLog, jsonOnly bool
	}{
		{name: "a terminal", people: true, colours: true, peopleLog: true},
		{name: "without colours", environment: []string{"NO_COLOR=1"}, people: true, peopleLog: true},
		{name: "a terminal without any", environment: []string{"TERM=dumb"}, people: true, peopleLog: true},
		{name: "JSON all the same", args: []string{"--log-format", "json"}, jsonOnly: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			said := onTerminal(t, c.environment, c.args...)
			if got := strings.Contains(said, "payledger is ready (sandbox).") && strings.Contains(said, "signing secret      plsec_") &&
				strings.Contains(said, "export PAYLEDGER_URL=http://127.0.0.1:"); got != c.people {
				t.Errorf("for people: %v:\n%s", got, said)
			}
			if got := strings.Contains(said, colour); got != c.colours {
				t.Errorf("in colours: %v:\n%q", got, said)
			}
			if got := strings.Contains(said, "INF") && strings.Contains(said, "stopping"); got != c.peopleLog {
				t.Errorf("a log for people: %v:\n%s", got, said)
			}
			for line := range strings.Lines(said) {
				if c.jsonOnly && !json.Valid([]byte(line)) {
					t.Errorf("%q is no JSON", line)
				}
			}
		})
	}
}

// TestPipe: in a pipe every line of stdout and of the log is JSON (I1).
func TestPipe(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	p := apptest.ServeProcess(t, "--data", t.TempDir()) // which reads stdout as JSON
	p.Stop()
	lines := 0
	for line := range strings.Lines(p.Log.String()) {
		lines++
		if !json.Valid([]byte(line)) {
			t.Errorf("%q is no JSON", line)
		}
	}
	if lines == 0 {
		t.Error("nothing was logged")
	}
}
