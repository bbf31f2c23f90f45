package main

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
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/domain"
)

// cardConfirmsLater: every capture is pending, its confirmation comes by notification (D13).
const cardConfirmsLater = "4000000000005175"

// TestReconcileDays: --from and --to take a day in UTC and include all of it (I1).
func TestReconcileDays(t *testing.T) {
	t.Parallel()
	app := startApp(t, testOptions(t.TempDir()))
	m := newMerchant(app.ready().API, app.credentials.APIKey)
	yesterday := time.Now().UTC().Add(-24 * time.Hour).Format(time.DateOnly)
	if a, err := m.pay(m.token(t, "order-1", 2500, "4111111111111111"), "key-1"); err != nil || a.status != 200 {
		t.Fatal(a.status, err)
	}
	today := time.Now().UTC().Format(time.DateOnly)
	for args, want := range map[[2]string]string{
		{yesterday, today}:     "1 payment of the ledger with 1 operation there, 1 entry",
		{yesterday, yesterday}: "1 payment of the ledger with 0 operations there, 0 entries",
	} {
		status, out, stderr := invoke(t, "reconcile", "--processor", "ADYEN", "--url", m.api, "--api-key", m.key, "--from", args[0], "--to", args[1])
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("%v: exits %d: %s%s", args, status, out, stderr)
		}
	}
}

// TestReconcileOnItsWay checks that a confirmation whose notification is under way is no difference yet at a server, but counted. In the
// folder of a stopped server it is a difference at once.
func TestReconcileOnItsWay(t *testing.T) {
	t.Parallel()
	nobody := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})) // receives notifications and ignores them
	t.Cleanup(nobody.Close)
	o := testOptions(t.TempDir())
	o.PublicURL = nobody.URL
	app, stop := startToStop(t, o)
	m := newMerchant(app.ready().API, app.credentials.APIKey)
	args := []string{"reconcile", "--processor", "ADYEN", "--url", m.api, "--api-key", m.key}
	fresh := false
	for try := range 7 {
		key := pendingCapture(t, m, fmt.Sprint("order-", try))
		next := awaitQuiet(t, app, key, 600*time.Millisecond<<try) // longer on a slow machine
		if _, err := app.processors.Settle(context.Background()); err != nil {
			t.Fatal(err)
		}
		status, out, stderr := invoke(t, args...)
		if time.Now().After(next) { // the service may have asked before
			eventually(t, func() bool { _, asked := app.commands.NextQuestion(key); return !asked })
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
		key := pendingCapture(t, m, fmt.Sprint("order-last-", try))
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if !confirm(t, filepath.Join(o.Data, ledger.SimulatorFolder, "books.jsonl"), key) { // the processor confirmed by itself, and the service may have sent a query
			app, stop = startToStop(t, o)
			m.api = app.ready().API
			continue
		}
		status, out, stderr := invoke(t, "reconcile", "--processor", "ADYEN", "--data", o.Data)
		if status != exitFailure || !strings.Contains(out, "OTHER_STATE") || !strings.Contains(out, string(key)) || !strings.Contains(out, "PENDING 25.00 EUR") {
			t.Errorf("exits %d: %s%s", status, out, stderr)
		}
		return
	}
	t.Error("the processor confirmed every capture before the service had stopped: nothing was tried")
}

// startToStop starts a service that the test stops, and that is stopped with the test at the latest.
func startToStop(t *testing.T, o options.Options) (*App, func() error) {
	t.Helper()
	app, err := Start(context.Background(), o, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceValue(app.Stop)
	t.Cleanup(func() { _ = stop() }) // the test looks at it, unless it failed before
	return app, stop
}

// pendingCapture makes a payment whose capture waits for its confirmation, and returns the capture's key.
func pendingCapture(t *testing.T, m *merchant, order string) domain.OperationKey {
	t.Helper()
	var p paymentAnswer
	a, err := m.pay(m.token(t, order, 2500, cardConfirmsLater), "key-"+order)
	if err != nil || a.status != 200 {
		t.Fatal(a.status, string(a.body), err)
	}
	a.decode(t, &p)
	m.must(t, "POST", "/payments/"+p.ID+"/capture", m.headers(), nil).decode(t, &p)
	if p.Status != "SETTLING" {
		t.Fatalf("captured: %+v", p)
	}
	return domain.OperationKey(p.ID + ".3")
}

// awaitQuiet waits until the processor gets no question about an operation for at least a while, and returns the end of that time.
func awaitQuiet(t *testing.T, app *App, key domain.OperationKey, least time.Duration) time.Time {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(settleDeadline); ; <-tick.C {
		if next, asked := app.commands.NextQuestion(key); asked && time.Until(next) > least {
			return next
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is asked about all the time, or never", key)
		}
	}
}

// confirm writes the success of a pending operation into the books of a stopped simulator, as the simulator would. It returns false if the
// operation has succeeded already.
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
