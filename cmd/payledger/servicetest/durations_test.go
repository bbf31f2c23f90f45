package servicetest

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
)

// TestDurationMetrics checks that the service counts the durations of requests, calls of
// processors, appends, syncs and attempts of webhooks, and the lag of the projections, and that
// what a request caused has the request's id as exemplar.
func TestDurationMetrics(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	inbox, _ := apptest.Inbox(t, 204)
	m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": inbox})
	paid, err := m.Pay(m.Token(t, "order-1", 2500, "4111111111111111"), "key-1")
	if err != nil || paid.Status != http.StatusOK {
		t.Fatal(paid.Status, string(paid.Body), err)
	}
	m.Must(t, "GET", "/payments", m.Headers(), nil) // lists wait for the views
	awaitMetrics(t, app, `payledger_webhook_attempt_duration_seconds_count{result="OK"} 1`)
	var text string
	apptest.Eventually(t, func() bool { // the index of deliveries follows
		text = openMetrics(t, app.Ready().Admin)
		return strings.Contains(text, "\n"+`payledger_projection_lag_seconds_count{projection="deliveries"} 2.0`) ||
			strings.Contains(text, "\n"+`payledger_projection_lag_seconds_count{projection="deliveries"} 2`)
	})
	for _, series := range []string{
		`payledger_http_request_duration_seconds{route="POST /payments",status="2xx"}`, `payledger_log_append_duration_seconds{records="events",result="stored"}`,
		`payledger_log_append_duration_seconds{records="deliveries",result="stored"}`, `payledger_log_sync_duration_seconds{records="events"}`,
		`payledger_log_sync_duration_seconds{records="deliveries"}`, `payledger_webhook_attempt_duration_seconds{result="OK"}`,
		`payledger_projection_lag_seconds{projection="views"}`, `payledger_projection_lag_seconds{projection="deliveries"}`,
	} {
		name, labels, _ := strings.Cut(series, "{")
		for _, part := range []string{"_count", "_sum"} {
			found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name+part+"{"+labels) + ` (\S+)$`).FindStringSubmatch(text)
			if found == nil || found[1] == "0" || found[1] == "0.0" {
				t.Errorf("%s%s is %v", series, part, found)
			}
		}
	}
	if !regexp.MustCompile(`(?m)^payledger_processor_call_duration_seconds_count\{call="[a-z]+",processor="[A-Z]+",result="answered"\} [1-9]`).MatchString(text) {
		t.Error("no call of a processor is counted")
	}
	for _, bucket := range []string{
		`payledger_http_request_duration_seconds_bucket{route="POST /payments",status="2xx"`, `payledger_webhook_attempt_duration_seconds_bucket{result="OK"`,
		`payledger_log_append_duration_seconds_bucket{records="events",result="stored"`, `payledger_projection_lag_seconds_bucket{projection="views"`,
	} {
		var traces []string
		for _, found := range regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(bucket)+`.* # \{trace_id="([^"]+)"\}`).FindAllStringSubmatch(text, -1) {
			traces = append(traces, found[1])
		}
		if !slices.Contains(traces, paid.Header.Get("X-Request-Id")) {
			t.Errorf("%s has the exemplars %v, expected the request %s", bucket, traces, paid.Header.Get("X-Request-Id"))
		}
	}
}

// openMetrics reads the metrics in the form that has exemplars.
func openMetrics(t *testing.T, admin string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, admin+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer.StatusCode, err)
	}
	return string(text)
}
