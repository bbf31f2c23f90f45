//go:build system

package kills

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
	"payledger/cmd/payledger/ledger"
)

// TestReconcileAll: without a processor, reconcile compares with all enabled ones of a server, and
// with all of a folder; a difference has its next step in words.
func TestReconcileAll(t *testing.T) {
	t.Parallel()
	o := apptest.TestOptions(t.TempDir())
	app, stop := apptest.StartToStop(t, o)
	m := apptest.NewMerchant(app.API.URL, app.Credentials.APIKey)
	m.Must(t, http.MethodPatch, "/management/processors/STRIPE", m.Headers(), map[string]any{"enabled": false})
	apptest.Buys(t, m, "order-1")
	type result struct {
		Processor   string
		Differences []struct{ Difference, NextStep string }
		Compared    struct{ Payments int }
	}
	var all []result
	out := apptest.Look(t, m, "reconcile", "--json")
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 5 || strings.Contains(out, "STRIPE") || all[0].Compared.Payments != 1 {
		t.Errorf("at the server: %v %s", err, out)
	}
	if out := apptest.Look(t, m, "reconcile"); strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "0 differences. Compared with ADYEN, ") || !strings.Contains(out, ": 1 payment of the ledger") {
		t.Errorf("as tables: %s", out)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	books := filepath.Join(o.Data, ledger.SimulatorFolder, "books.jsonl")
	text, err := os.ReadFile(books)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(books, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, said := apptest.Invoke(t, "reconcile", "--json", "--data", o.Data)
	if err := json.Unmarshal([]byte(out), &all); err != nil || status != command.ExitFailure || len(all) != 6 || len(all[0].Differences) != 1 {
		t.Fatalf("the folder: %d %v %s%s", status, err, out, said)
	}
	if d := all[0].Differences[0]; d.Difference != "MISSING_THERE" || !strings.Contains(d.NextStep, "Do not rely on this authorize yet") {
		t.Errorf("%+v", d)
	}
	if status, out, _ := apptest.Invoke(t, "reconcile", "--data", o.Data); status != command.ExitFailure || !strings.Contains(out, "\n  → Do not rely on this authorize yet") || strings.Count(out, "Compared with ") != 2 {
		t.Errorf("as tables: %d %s", status, out)
	}
	if err := os.WriteFile(books, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, said := apptest.Invoke(t, "reconcile", "--url", "http://127.0.0.1:1", "--api-key", "plk"); status != command.ExitUsage || !strings.Contains(said, "is the server running") {
		t.Errorf("no server: %d %s", status, said)
	}
}
