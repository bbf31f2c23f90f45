package servicetest

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
)

// readMetrics reads the metrics.
func readMetrics(t *testing.T, app *app.App) string {
	t.Helper()
	response, err := http.Get(app.Ready().Admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response.StatusCode, err)
	}
	return string(text)
}

// awaitMetrics waits until the metrics have every line, and returns them all.
func awaitMetrics(t *testing.T, app *app.App, lines ...string) string {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(apptest.SettleDeadline); ; <-tick.C {
		text, missing := readMetrics(t, app), ""
		for _, line := range lines {
			if !strings.Contains(text, "\n"+line+"\n") {
				missing = line
			}
		}
		if missing == "" {
			return text
		}
		if time.Now().After(deadline) {
			t.Fatalf("%q is missing:\n%s", missing, text)
		}
	}
}

// TestWebhookMetrics checks that operators see which webhooks wait and since when, how attempts
// ended, and which deliveries were given up (D18).
func TestWebhookMetrics(t *testing.T) {
	t.Parallel()
	o := apptest.TestOptions(t.TempDir())
	o.WebhookRetryDelays = []time.Duration{time.Hour}
	app := apptest.StartApp(t, o)
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	working, _ := apptest.Inbox(t, 204)
	broken, _ := apptest.Inbox(t, 500)
	for _, url := range []string{working, broken} {
		m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": url})
	}
	if a, err := m.Pay(m.Token(t, "order-1", 2500, "4111111111111111"), "key-1"); err != nil || a.Status != http.StatusOK {
		t.Fatal(a.Status, string(a.Body), err)
	}
	text := awaitMetrics(t, app,
		`payledger_webhook_deliveries_open{status="FAILED"} 1`, `payledger_webhook_deliveries_open{status="PLANNED"} 0`,
		`payledger_webhook_attempts_total{result="OK"} 1`, `payledger_webhook_attempts_total{result="STATUS"} 1`,
		`payledger_webhook_deliveries_ended_total{status="SUCCEEDED"} 1`, `payledger_webhook_deliveries_ended_total{status="EXHAUSTED"} 0`,
	)
	if !strings.Contains(text, `payledger_webhook_deliveries_oldest_open_seconds{status="FAILED"} `) ||
		strings.Contains(text, `payledger_webhook_deliveries_oldest_open_seconds{status="PLANNED"} `) {
		t.Errorf("the oldest:\n%s", text)
	}
	var waiting struct{ Data []struct{ ID string } }
	apptest.Eventually(t, func() bool { // the list follows the deliveries
		m.Must(t, "GET", "/management/webhook-deliveries?outcome=FAILED", m.Headers(), nil).Decode(t, &waiting)
		return len(waiting.Data) == 1
	})
	m.Must(t, "POST", "/management/webhook-deliveries/"+waiting.Data[0].ID+"/resend", m.Headers(), nil)
	awaitMetrics(t, app, `payledger_webhook_attempts_total{result="STATUS"} 2`, `payledger_webhook_deliveries_open{status="FAILED"} 1`)
}

// TestWebhookMetricsExhausted checks that a delivery whose attempts all failed is counted, and no
// longer waits.
func TestWebhookMetricsExhausted(t *testing.T) {
	t.Parallel()
	o := apptest.TestOptions(t.TempDir())
	o.WebhookRetryDelays = []time.Duration{time.Millisecond}
	app := apptest.StartApp(t, o)
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	broken, _ := apptest.Inbox(t, 500)
	m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": broken})
	if a, err := m.Pay(m.Token(t, "order-1", 2500, "4111111111111111"), "key-1"); err != nil || a.Status != http.StatusOK {
		t.Fatal(a.Status, string(a.Body), err)
	}
	awaitMetrics(t, app, `payledger_webhook_deliveries_ended_total{status="EXHAUSTED"} 1`,
		`payledger_webhook_deliveries_open{status="FAILED"} 0`, `payledger_webhook_attempts_total{result="STATUS"} 2`)
}
