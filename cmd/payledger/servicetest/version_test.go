package servicetest

import (
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
	"payledger/cmd/payledger/options"
)

// TestVersion checks the output of version and --version for a build (I1).
func TestVersion(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"version"}, {"--version"}} {
		status, out, stderr := apptest.Invoke(t, args...)
		if status != 0 || !strings.HasPrefix(out, "payledger  ") || !strings.Contains(out, "\ncommit     ") || !strings.Contains(out, "\nbuilt with go1.") || stderr != "" {
			t.Errorf("%v exits %d and prints %q %q", args, status, out, stderr)
		}
	}
	built := &debug.BuildInfo{
		Main:     debug.Module{Version: "v1.2.3"},
		Deps:     []*debug.Module{{Path: "github.com/nats-io/nats.go", Version: "v9.8.7"}, {Path: "other.example/x", Version: "v1.0.0"}},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc123"}, {Key: "vcs.modified", Value: "true"}},
	}
	text := command.VersionText(built)
	for _, said := range []string{"payledger  v1.2.3\n", "commit     abc123 (modified)\n", "github.com/nats-io/nats.go v9.8.7\n"} {
		if !strings.Contains(text, said) {
			t.Errorf("%q does not say %q", text, said)
		}
	}
	if strings.Contains(text, "other.example") {
		t.Errorf("%q names every module", text)
	}
}

// TestHelp: requested help goes to stdout. Without a command it goes to stderr with the status of
// wrong usage.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"help"}, 0, "Usage: payledger <command>"}, {[]string{"--help"}, 0, "Usage: payledger <command>"},
		{[]string{"help", "serve"}, 0, "Usage: payledger serve"}, {[]string{"serve", "--help"}, 0, "Usage: payledger serve"}, {nil, command.ExitUsage, ""},
	} {
		status, out, stderr := apptest.Invoke(t, c.args...)
		if status != c.status || !strings.HasPrefix(out, c.says) || (out == "") == (stderr == "") {
			t.Errorf("%v exits %d and prints %q, on stderr %q", c.args, status, out, stderr)
		}
	}
}

// TestClientErrors checks that client commands show the server's fault and the advice in one line.
func TestClientErrors(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"a bad time", []string{"history", "01x", "--at", "soon"}, []string{`--at: "soon" is neither a revision from 1 nor a time such as 2026-03-14T09:00:00Z`}},
		{"an unknown position", []string{"tail", "--after", "99999"}, []string{"No event has this position yet.", "0 to begin with the first event"}},
		{"an empty time", []string{"history", "01x", "--at", ""}, []string{"--at has no value"}},
		{"an empty payment", []string{"tail", "--payment="}, []string{"--payment has no value"}},
		{"an empty id", []string{"history", ""}, []string{"the payment's id is empty"}},
		{"an empty id to prove", []string{"prove", "", "--out", filepath.Join(t.TempDir(), "proof")}, []string{"the payment's id is empty"}},
		{"an unknown payment", []string{"history", "01x"}, []string{"PaymentError: ", "GET /payments lists the account's payments."}},
		{"a bad key", []string{"history", "01x", "--api-key", "plk_sandbox_x"}, []string{"Unauthorized: ", "Send an API key of this environment"}},
		{"a bad key to reconcile", []string{"reconcile", "--processor", "ADYEN", "--api-key", "plk_sandbox_x"}, []string{"Unauthorized: ", "Send an API key of this environment"}},
	} {
		args := append(c.args, "--url", app.Ready().API)
		if !options.Arguments(c.args).Has("--api-key") {
			args = append(args, "--api-key", app.Credentials.APIKey)
		}
		status, _, stderr := apptest.Invoke(t, args...)
		if status == 0 || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exits %d and says %q", c.name, status, stderr)
		}
		for _, said := range c.says {
			if !strings.Contains(stderr, said) {
				t.Errorf("%s: %q does not say %q", c.name, stderr, said)
			}
		}
	}
	if line := `payledger_http_requests_total{status="401"} 2`; !strings.Contains(apptest.GetText(t, app.Ready().Admin+"/metrics", 200), line) {
		t.Errorf("the metrics do not say %s", line)
	}
}

// TestFolderOrServer: a flag overrides the environment; two variables without a flag are refused.
func TestFolderOrServer(t *testing.T) {
	for _, c := range []struct {
		args, environment []string
		data              string
		folder, refused   bool
	}{
		{nil, nil, "", false, false},
		{[]string{"--data", "d"}, nil, "d", true, false},
		{[]string{"--data=d"}, []string{"PAYLEDGER_URL"}, "d", true, false},
		{[]string{"--url", "u"}, []string{"PAYLEDGER_DATA"}, "d", false, false},
		{nil, []string{"PAYLEDGER_DATA"}, "d", true, false},
		{nil, []string{"PAYLEDGER_URL"}, "", false, false},
		{nil, []string{"PAYLEDGER_DATA", "PAYLEDGER_URL"}, "d", false, true},
		{[]string{"--url", "u", "--data", "d"}, nil, "d", false, true},
	} {
		for _, name := range []string{"PAYLEDGER_DATA", "PAYLEDGER_URL"} {
			t.Setenv(name, "")
		}
		for _, name := range c.environment {
			t.Setenv(name, "x")
		}
		folder, err := options.Arguments(c.args).ReadsFolder(c.data)
		if folder != c.folder || (err != nil) != c.refused {
			t.Errorf("%v with %v: folder %v, %v", c.args, c.environment, folder, err)
		}
	}
}
