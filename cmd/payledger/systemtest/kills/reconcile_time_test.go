//go:build system

package kills

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
	"payledger/cmd/payledger/ledger"
	"payledger/domain"
)

// TestReconcileDays: --from and --to take a day in UTC and include all of it (I1).
func TestReconcileDays(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	yesterday := time.Now().UTC().Add(-24 * time.Hour).Format(time.DateOnly)
	if a, err := m.Pay(m.Token(t, "order-1", 2500, "4111111111111111"), "key-1"); err != nil || a.Status != 200 {
		t.Fatal(a.Status, err)
	}
	today := time.Now().UTC().Format(time.DateOnly)
	for args, want := range map[[2]string]string{
		{yesterday, today}:     "1 payment of the ledger with 1 operation there, 1 entry",
		{yesterday, yesterday}: "1 payment of the ledger with 0 operations there, 0 entries",
	} {
		status, out, stderr := apptest.Invoke(t, "reconcile", "--processor", "ADYEN", "--url", m.API, "--api-key", m.Key, "--from", args[0], "--to", args[1])
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("%v: exits %d: %s%s", args, status, out, stderr)
		}
	}
}

// TestReconcileOnItsWay checks that a confirmation whose notification is under way is no difference
// yet at a server, but counted. In the folder of a stopped server it is a difference at once.
func TestReconcileOnItsWay(t *testing.T) {
	t.Parallel()
	nobody := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})) // receives notifications and ignores them
	t.Cleanup(nobody.Close)
	o := apptest.TestOptions(t.TempDir())
	o.PublicURL = nobody.URL
	app, stop := apptest.StartToStop(t, o)
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	args := []string{"reconcile", "--processor", "ADYEN", "--url", m.API, "--api-key", m.Key}
	fresh := false
	for try := range 7 {
		key := apptest.PendingCapture(t, m, fmt.Sprint("order-", try))
		next := awaitQuiet(t, app, key, 600*time.Millisecond<<try) // longer on a slow machine
		if _, err := app.Processors.Control().Settle(context.Background()); err != nil {
			t.Fatal(err)
		}
		status, out, stderr := apptest.Invoke(t, args...)
		if time.Now().After(next) { // the service may have asked before
			apptest.Until(t, apptest.SettleDeadline, "the answer of the processor about "+fmt.Sprint(key), func() (bool, string) {
				next, asked := app.Commands.NextLookup(key)
				return !asked, fmt.Sprint("it is asked at ", next)
			})
			continue
		}
		fresh = true
		if status != 0 || !strings.Contains(out, "0 have no answer yet, 1 was too fresh to judge") {
			t.Errorf("exits %d: %s%s", status, out, stderr)
		}
		break
	}
	if !fresh {
		t.Error("the service asked before every comparison: nothing was tried")
	}
	for try := range 5 {
		key := apptest.PendingCapture(t, m, fmt.Sprint("order-last-", try))
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if !confirm(t, filepath.Join(o.Data, ledger.SimulatorFolder, "books.jsonl"), key) { // the processor confirmed by itself, and the service may have sent a query
			app, stop = apptest.StartToStop(t, o)
			m.API = app.Ready().API
			continue
		}
		status, out, stderr := apptest.Invoke(t, "reconcile", "--processor", "ADYEN", "--data", o.Data)
		if status != command.ExitFailure || !strings.Contains(out, "OTHER_STATE") || !strings.Contains(out, string(key)) || !strings.Contains(out, "PENDING 25.00 EUR") {
			t.Errorf("exits %d: %s%s", status, out, stderr)
		}
		return
	}
	t.Error("the processor confirmed every capture before the service had stopped: nothing was tried")
}

// awaitQuiet waits until the processor gets no look-up of an operation for at least a while, and
// returns the end of that time.
func awaitQuiet(t *testing.T, app *app.App, key domain.OperationKey, least time.Duration) time.Time {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(apptest.SettleDeadline); ; <-tick.C {
		if next, asked := app.Commands.NextLookup(key); asked && time.Until(next) > least {
			return next
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is asked about all the time, or never", key)
		}
	}
}

// confirm writes the success of a pending operation into the books of a stopped simulator, as the
// simulator would. It returns false if the operation has succeeded already.
func confirm(t *testing.T, file string, key domain.OperationKey) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	type record struct {
		Type      string         `json:"type"`
		At        time.Time      `json:"at"`
		ID        string         `json:"id"` // of the completed operation
		Answer    map[string]any `json:"answer"`
		Operation struct {
			ID     string              `json:"id"`
			Key    domain.OperationKey `json:"key"`
			Answer map[string]any      `json:"answer"`
		} `json:"operation,omitzero"`
	}
	done := record{Type: "finished", At: time.Now()}
	for line := range bytes.Lines(text) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		switch {
		case r.Operation.Key == key:
			done.ID, done.Answer = r.Operation.ID, r.Operation.Answer
		case r.Type == done.Type && r.ID == done.ID:
			return false
		}
	}
	if done.ID == "" {
		t.Fatalf("%s is not in the books", key)
	}
	done.Answer["state"] = "SUCCEEDED"
	line, err := json.Marshal(done)
	if err == nil {
		err = os.WriteFile(file, append(append(text, line...), '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}
