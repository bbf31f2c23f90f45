package servicetest

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
)

// TestDamagedWhileServing: damage of derived files while the service runs is seen. The stream
// EVENTS is written again, with a metric. A malformed index of deliveries makes /readyz red when a
// list meets it (I1).
func TestDamagedWhileServing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := apptest.TestOptions(dir)
	o.NatsListen = "127.0.0.1:0"
	blocked := filepath.Join(dir, ledger.AnalyticsFolder)
	if err := os.WriteFile(blocked, nil, 0o600); err != nil { // where EVENTS has to be
		t.Fatal(err)
	}
	app := apptest.StartApp(t, o)
	failing(t, app, blocked)
	m := apptest.NewMerchant(app.API.URL, app.Credentials.APIKey)
	if _, err := m.Pay(m.Token(t, "order-1001", 2500, "4111111111111111"), ""); err != nil {
		t.Fatal(err)
	}
	size := apptest.Events(t, app)
	apptest.Eventually(t, func() bool { return app.Feed.Position() >= size })
	metrics := func() string { return apptest.GetText(t, app.Admin.URL+"/metrics", http.StatusOK) }
	if text := metrics(); !strings.Contains(text, "payledger_events_faults_total 0\n") || !strings.Contains(text, "payledger_events_failing 0\n") {
		t.Error("the metrics of a whole stream differ")
	}
	spoil(t, filepath.Join(dir, ledger.AnalyticsFolder, "jetstream", "*", "streams", "EVENTS", "msgs", "*.blk"))
	apptest.Eventually(t, func() bool {
		text := metrics()
		return strings.Contains(text, "payledger_events_faults_total 1\n") && strings.Contains(text, "payledger_events_failing 0\n") && app.Feed.Position() >= size
	})
	if text := apptest.GetText(t, app.Admin.URL+"/readyz", http.StatusOK); strings.Contains(text, "analysts") {
		t.Errorf("readiness after the stream was written again: %s", text)
	}

	spoil(t, filepath.Join(dir, "views", "deliveries.sqlite*"))
	apptest.Eventually(t, func() bool {
		_, _ = m.Call("GET", "/management/webhook-deliveries?limit=100", m.Headers(), nil)
		answer, err := http.Get(app.Admin.URL + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusServiceUnavailable
	})
	if text := apptest.GetText(t, app.Admin.URL+"/readyz", http.StatusServiceUnavailable); !strings.Contains(text, "deliveries.sqlite is damaged: restart the service") {
		t.Errorf("the reason is %s", text)
	}
}

// failing checks that a service whose stream EVENTS fails is ready, names the reason as analysts,
// and has it in a metric; and that it names none when the stream is written after all.
func failing(t *testing.T, app *app.App, blocked string) {
	t.Helper()
	ready := func() (answer struct {
		Ready    bool
		Reason   string
		Analysts *string
	}) {
		if err := json.Unmarshal([]byte(apptest.GetText(t, app.Admin.URL+"/readyz", http.StatusOK)), &answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	apptest.Eventually(t, func() bool { return ready().Analysts != nil })
	if got := ready(); !got.Ready || got.Reason != "" || !strings.Contains(*got.Analysts, "eventstream: ") || !strings.Contains(*got.Analysts, blocked) {
		t.Errorf("the stream fails, and readiness is %+v, analysts %q", got, *got.Analysts)
	}
	if text := apptest.GetText(t, app.Admin.URL+"/metrics", http.StatusOK); !strings.Contains(text, "payledger_events_failing 1\n") {
		t.Error("the metric of a stream that fails differs")
	}
	if text := apptest.GetText(t, app.API.URL+"/readyz", http.StatusOK); strings.Contains(text, "analysts") { // for everybody
		t.Errorf("the API address shows %s", text)
	}
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	apptest.Eventually(t, func() bool { return ready().Analysts == nil })
}

// spoil changes all bytes of the files of a pattern.
func spoil(t *testing.T, pattern string) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no file %s: %v", pattern, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range data {
			data[i] ^= 0x55
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
