//go:build system

package kills

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/commands/reconcile"
)

// TestReconcileCommand: the table and the JSON object, and the exit status: 0 for no differences, 1
// for some, 2 when not all could be compared (I1).
func TestReconcileCommand(t *testing.T) {
	t.Parallel()
	o := apptest.TestOptions(t.TempDir())
	app := apptest.StartApp(t, o)
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	var paid apptest.PaymentAnswer
	got, err := m.Pay(m.Token(t, "order-1", 2500, "4111111111111111"), "key-1")
	if err != nil || got.Status != 200 {
		t.Fatal(got.Status, string(got.Body), err)
	}
	got.Decode(t, &paid)
	server := []string{"reconcile", "--processor", "ADYEN", "--url", m.API, "--api-key", m.Key}
	status, out, stderr := apptest.Invoke(t, server...)
	if want := "0 differences. Compared with ADYEN: 1 payment of the ledger with 1 operation there, 1 entry of its books, and 0 notifications about disputes; 0 have no answer yet, 0 were too fresh to judge.\n"; status != 0 || out != want || stderr != "" {
		t.Errorf("exits %d:\n%s%s", status, out, stderr)
	}
	part := domain.Amount(700)
	line, err := app.Processors.Control().Act(context.Background(), processor.Capture, domain.PaymentID(paid.ID), &part)
	if err != nil {
		t.Fatal(err)
	}
	status, out, stderr = apptest.Invoke(t, server...)
	for _, shown := range []string{"DIFFERENCE  ", "MISSING_HERE  ", paid.ID, "capture", string(line.IdempotencyKey), "SUCCEEDED 7.00 EUR", "1 difference. "} {
		if !strings.Contains(out, shown) {
			t.Errorf("the table does not show %q:\n%s", shown, out)
		}
	}
	if status != command.ExitFailure || strings.Count(stderr, "\n") != 1 || strings.Count(out, "\n") != 4 {
		t.Errorf("exits %d and says %q", status, stderr)
	}
	status, out, _ = apptest.Invoke(t, append(server, "--json", "--from", "2026-01-01")...)
	var object struct {
		Differences []reconcile.Difference `json:"differences"`
		Processor   string                 `json:"processor"`
		From, To    string
		Compared    map[string]int `json:"compared"`
	}
	if err := json.Unmarshal([]byte(out), &object); err != nil || status != command.ExitFailure {
		t.Fatalf("exits %d with %v: %s", status, err, out)
	}
	if object.Processor != "ADYEN" || len(object.Differences) != 1 || object.From != "2026-01-01T00:00:00.000000Z" || object.To != "" || object.Compared["records"] != 2 {
		t.Errorf("%+v", object)
	}
	if status, out, _ := apptest.Invoke(t, append(server, "--to", "2026-01-01T00:00:00Z")...); status != 0 || !strings.Contains(out, "1 payment of the ledger with 0 operations there, 0 entries") {
		t.Errorf("of another time: exits %d: %s", status, out)
	}
}

// TestReconcileTrouble: an incomplete comparison reports neither differences nor none.
func TestReconcileTrouble(t *testing.T) {
	t.Parallel()
	inUse, empty := t.TempDir(), t.TempDir()
	app := apptest.StartApp(t, apptest.TestOptions(inUse))
	short := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"progress":{"books":false,"total":2,"counts":{"payments":1}}}` + "\n")) // the client may be gone
	}))
	t.Cleanup(short.Close)
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"no key and no processor", nil, "PAYLEDGER_API_KEY"},
		{"an unknown processor", []string{"--processor", "NOBODY", "--data", empty}, "NOBODY"},
		{"no key", []string{"--processor", "ADYEN"}, "PAYLEDGER_API_KEY"},
		{"a wrong key", []string{"--processor", "ADYEN", "--url", app.Ready().API, "--api-key", "plk"}, "Unauthorized"},
		{"a time that ends before it begins", []string{"--processor", "ADYEN", "--data", empty, "--from", "2026-03-02", "--to", "2026-03-01"}, "--from 2026-03-02 is after --to 2026-03-01"},
		{"the same at a server", []string{"--processor", "ADYEN", "--api-key", "plk", "--from", "2030-01-01", "--to", "2020-01-01"}, "is after --to"},
		{"an account at a server", []string{"--processor", "ADYEN", "--api-key", "plk", "--account", "acct1"}, "--account"},
		{"a time that is none", []string{"--processor", "ADYEN", "--data", empty, "--from", "yesterday"}, "--from"},
		{"an empty folder", []string{"--processor", "ADYEN", "--data", empty}, "no data folder"},
		{"a running server's folder", []string{"--processor", "ADYEN", "--data", inUse}, "--url"},
		{"no server", []string{"--processor", "ADYEN", "--url", "http://127.0.0.1:1", "--api-key", "plk"}, "is the server running"},
		{"an answer without an end", []string{"--processor", "ADYEN", "--url", short.URL, "--api-key", "plk"}, "before its end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, stderr := apptest.Invoke(t, append([]string{"reconcile"}, c.args...)...)
			if status != command.ExitUsage || !strings.Contains(stderr, c.says) || strings.Contains(out, "differences") {
				t.Errorf("exits %d and says %q %q; expected %q", status, out, stderr, c.says)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(empty, ledger.EventsFolder)); !os.IsNotExist(err) {
		t.Error("a comparison made a ledger:", err)
	}
}

// TestReconcileFolder: a stopped folder is read, and every byte of it stays as it is.
func TestReconcileFolder(t *testing.T) {
	t.Parallel()
	o := apptest.TestOptions(t.TempDir())
	payAndStop(t, o)
	before := filesBelow(t, o.Data)
	args := []string{"reconcile", "--processor", "ADYEN", "--data", o.Data}
	if status, out, stderr := apptest.Invoke(t, args...); status != 0 || !strings.Contains(out, "1 payment of the ledger with 1 operation there") {
		t.Errorf("exits %d: %s%s", status, out, stderr)
	}
	for name, text := range filesBelow(t, filepath.Join(o.Data, ledger.SimulatorFolder)) {
		if was := before[filepath.Join(ledger.SimulatorFolder, name)]; was != text {
			t.Errorf("%s was changed", name)
		}
	}
	if status, _, stderr := apptest.Invoke(t, append(args, "--account", "nobody")...); status != command.ExitUsage || !strings.Contains(stderr, "no account nobody") {
		t.Errorf("of nobody's account: exits %d and says %s", status, stderr)
	}
	if err := os.Remove(filepath.Join(o.Data, ledger.SimulatorFolder, "books.jsonl")); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := apptest.Invoke(t, args...); status != command.ExitUsage || !strings.Contains(stderr, "--processor-url") {
		t.Errorf("without books: exits %d and says %s", status, stderr)
	}
}

// payAndStop leaves the folder of a service that made a payment and was stopped.
func payAndStop(t *testing.T, o options.Options) {
	t.Helper()
	app, err := app.Start(context.Background(), o, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	got, err := m.Pay(m.Token(t, "order-1", 2500, "4111111111111111"), "key-1")
	if err != nil || got.Status != 200 {
		t.Fatal(got.Status, string(got.Body), err)
	}
	if err := app.Stop(); err != nil {
		t.Fatal(err)
	}
}

// filesBelow returns the content of every file below a folder by its path there.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
