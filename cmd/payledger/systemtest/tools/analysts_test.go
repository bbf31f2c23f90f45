//go:build system

package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/eventstoretest"
	"payledger/httpapi/docs/docstest"
)

// TestAnalystsPrograms: the guide's programs for analysts, in Node from the stream EVENTS and in
// Python over HTTP, print every event of the account once, in the order of positions, and from
// behind a position on.
func TestAnalystsPrograms(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	dir := t.TempDir()
	o := apptest.TestOptions(dir)
	o.NatsListen = "127.0.0.1:0"
	app := apptest.StartApp(t, o)
	m := apptest.NewMerchant(app.API.URL, app.Credentials.APIKey)
	if _, err := m.Pay(m.Token(t, "order-1", 1000, "4111111111111111"), ""); err != nil {
		t.Fatal(err)
	}
	size := apptest.Events(t, app)
	apptest.Eventually(t, func() bool { return app.Feed.Position() >= size })
	status, credentials, text := apptest.Invoke(t, "analytics-user", "warehouse", "--data", dir)
	if status != 0 {
		t.Fatalf("analytics-user: status %d, %s", status, text)
	}
	size = apptest.Events(t, app) // the new user is an event
	apptest.Eventually(t, func() bool { return app.Feed.Position() >= size })

	var page struct {
		Data []struct {
			Position uint64
			Type     string
			Payment  struct{ Status string }
		}
	}
	if err := json.Unmarshal(m.Must(t, "GET", "/events?limit=1000", m.Headers(), nil).Body, &page); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, e := range page.Data {
		if e.Payment.Status == "" {
			e.Payment.Status = "-"
		}
		want = append(want, fmt.Sprint(e.Position, " ", e.Type, " ", e.Payment.Status))
	}
	if len(want) < 7 {
		t.Fatalf("only %d events: %v", len(want), want)
	}
	rest := fmt.Sprint(page.Data[2].Position)

	at := t.TempDir()
	apptest.WriteClient(t, at, "read.creds", []byte(credentials))
	check := func(name string, args ...string) {
		t.Helper()
		for after, lines := range map[string][]string{"0": want, rest: want[3:]} {
			if got := runTool(t, at, name, append(args, after)...); got != strings.Join(lines, "\n") {
				t.Errorf("%s behind %s prints\n%s\nnot\n%s", name, after, got, strings.Join(lines, "\n"))
			}
		}
	}
	for language, file := range map[string]string{"js": "read.mjs", "python": "read.py"} {
		apptest.WriteClient(t, at, file, []byte(docstest.Block(t, docstest.Guides+"analysts.md", language)))
	}
	check("python3", "read.py", app.API.URL, m.Key)
	if tools, there := apptest.NpmTools(t); there {
		if err := os.Symlink(filepath.Join(tools, "node_modules"), filepath.Join(at, "node_modules")); err != nil {
			t.Fatal(err)
		}
		check("node", "read.mjs", app.Ready().NATS, "read.creds")
	}
}
