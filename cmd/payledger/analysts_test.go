package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
	"payledger/httpapi/docs/docstest"
)

// TestAnalystsPrograms: the guide's programs for analysts, in Node from the stream EVENTS and in Python over HTTP, print every event
// of the account once, in the order of positions, and from behind a position on.
func TestAnalystsPrograms(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	dir := t.TempDir()
	o := testOptions(dir)
	o.NatsListen = "127.0.0.1:0"
	app := startApp(t, o)
	m := newMerchant(app.api.URL, app.credentials.APIKey)
	if _, err := m.pay(m.token(t, "order-1", 1000, "4111111111111111"), ""); err != nil {
		t.Fatal(err)
	}
	size := app.events(t)
	eventually(t, func() bool { return app.feed.Position() >= size })
	status, credentials, text := invoke(t, "analytics-user", "warehouse", "--data", dir)
	if status != 0 {
		t.Fatalf("analytics-user: status %d, %s", status, text)
	}
	size = app.events(t) // the new user is an event
	eventually(t, func() bool { return app.feed.Position() >= size })

	var page struct {
		Data []struct {
			Position uint64
			Type     string
			Payment  struct{ Status string }
		}
	}
	if err := json.Unmarshal(m.must(t, "GET", "/events?limit=1000", m.headers(), nil).body, &page); err != nil {
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
	writeClient(t, at, "read.creds", []byte(credentials))
	check := func(name string, args ...string) {
		t.Helper()
		for after, lines := range map[string][]string{"0": want, rest: want[3:]} {
			if got := runTool(t, at, name, append(args, after)...); got != strings.Join(lines, "\n") {
				t.Errorf("%s behind %s prints\n%s\nnot\n%s", name, after, got, strings.Join(lines, "\n"))
			}
		}
	}
	for language, file := range map[string]string{"js": "read.mjs", "python": "read.py"} {
		writeClient(t, at, file, []byte(docstest.Block(t, docstest.Guides+"analysts.md", language)))
	}
	check("python3", "read.py", app.api.URL, m.key)
	if tools, there := npmTools(t); there {
		if err := os.Symlink(filepath.Join(tools, "node_modules"), filepath.Join(at, "node_modules")); err != nil {
			t.Fatal(err)
		}
		check("node", "read.mjs", app.ready().NATS, "read.creds")
	}
}
