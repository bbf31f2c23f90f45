//go:build system

package tools

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
)

// natsCommandLine is the newest command line of NATS.
const natsCommandLine = "github.com/nats-io/natscli/nats@v0.5.1"

// TestNATSCommandLine checks that the command line of NATS reads the account's events in EVENTS:
// with a consumer of its own, one message, a subscription, and page by page (I2).
func TestNATSCommandLine(t *testing.T) {
	t.Parallel()
	at := t.TempDir()
	if said, err := apptest.ToolOutput(t, at, "env", "GOBIN="+at, "go", "install", natsCommandLine); err != nil {
		apptest.ToolMissing(t, said)
		return
	}
	app, m, credentials := warehouse(t, "4111111111111111")
	var page struct {
		Data []struct {
			Position uint64 `json:"position"`
		} `json:"data"`
	}
	m.Must(t, "GET", "/events?limit=3", m.Headers(), nil).Decode(t, &page)
	position := func(i int) string { return fmt.Sprintf(`"position":%d,`, page.Data[i].Position) }
	apptest.WriteClient(t, at, "read.creds", []byte(credentials))
	program := []string{filepath.Join(at, "nats"), "--server", app.Ready().NATS, "--creds", filepath.Join(at, "read.creds"), "--no-context"}
	for _, c := range []struct {
		arguments string
		want      []string
	}{
		{"consumer add EVENTS warehouse --pull --defaults", []string{"warehouse"}},
		{"consumer next EVENTS warehouse --count 3", []string{position(0), position(2)}},
		{"consumer info EVENTS warehouse", []string{"warehouse"}},
		{"stream info EVENTS", []string{"EVENTS"}},
		{fmt.Sprintf("stream get EVENTS %d", page.Data[1].Position), []string{position(1), "Ledger-Hash"}},
		{"sub --stream EVENTS --all --count 2", []string{position(0), position(1)}},
		{"stream view EVENTS 1000", []string{position(0), position(2)}}, // the last page: after another it would ask whether to go on
		{"consumer rm EVENTS warehouse --force", nil},
	} {
		name, arguments := program[0], append(program[1:len(program):len(program)], strings.Fields(c.arguments)...)
		if strings.HasPrefix(c.arguments, "stream view") { // it needs a terminal
			name, arguments = "script", []string{"-qec", name + " " + strings.Join(arguments, " "), "/dev/null"}
		}
		said, err := apptest.ToolOutput(t, at, name, arguments...)
		if err != nil {
			t.Errorf("nats %s: %v: %s", c.arguments, err, said)
		}
		for _, want := range c.want {
			if !strings.Contains(said, want) {
				t.Errorf("nats %s has no %s: %s", c.arguments, want, said)
			}
		}
	}
	if said, err := apptest.ToolOutput(t, at, program[0], append(program[1:len(program):len(program)], "pub", "events.x", "y")...); err == nil && !strings.Contains(said, "ermissions") {
		t.Errorf("a publish is accepted: %s", said)
	}
}
