package servicetest

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"payledger/cmd/payledger/metrics"
	"payledger/eventstore"
)

// histograms returns the page of the histograms in the form of OpenMetrics.
func histograms(t *testing.T, d *metrics.Durations) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(d.Collectors()...)
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(w, r)
	return w.Body.String()
}

// quantile is Prometheus' histogram_quantile over all requests of a route, whatever their class.
func quantile(t *testing.T, page, route string, q float64) float64 {
	t.Helper()
	counts := map[float64]float64{}
	line := regexp.MustCompile(`(?m)^payledger_http_request_duration_seconds_bucket\{route="` + regexp.QuoteMeta(route) + `",status="(?:2xx|4xx)",le="([^"]+)"\} ([0-9]+)`)
	for _, m := range line.FindAllStringSubmatch(page, -1) {
		le, err := strconv.ParseFloat(m[1], 64)
		n, errN := strconv.ParseFloat(m[2], 64)
		if err != nil || errN != nil {
			t.Fatal(m)
		}
		counts[le] += n
	}
	total, before, lower := counts[math.Inf(1)], 0.0, 0.0
	for _, upper := range slices.Sorted(maps.Keys(counts)) {
		if counts[upper] >= q*total {
			if math.IsInf(upper, 1) {
				return lower
			}
			return lower + (upper-lower)*(q*total-before)/(counts[upper]-before)
		}
		before, lower = counts[upper], upper
	}
	t.Fatalf("no requests of %s in %s", route, page)
	return 0
}

// TestMetricsDurations checks that requests are counted by route and class of status, with their
// trace ids, and that the alert PayledgerSlow fires for the route alone of which one request in
// fifty is slow.
func TestMetricsDurations(t *testing.T) {
	d := metrics.NewDurations()
	for i := range 100 {
		took := 20 * time.Millisecond
		if i%50 == 0 {
			took = 4 * time.Second
		}
		d.Request("POST /payments/{id}/capture", 200, took, "0af7651916cd43dd8448eb211c80319c")
		d.Request("GET /payments", 200, 20*time.Millisecond, "")
		d.Request("GET /payments", 503, 9*time.Second, "")
	}
	d.Request("", 404, time.Millisecond, "")
	page := histograms(t, d)
	for _, want := range []string{
		`payledger_http_request_duration_seconds_count{route="GET /payments",status="2xx"} 100`, `{route="GET /payments",status="5xx"} 100`, `{route="none",status="4xx"} 1`,
		`{route="POST /payments/{id}/capture",status="2xx",le="5.0"} 100 # {trace_id="0af7651916cd43dd8448eb211c80319c"} 4.0`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is missing in %s", want, page)
		}
	}
	rules, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "prometheus", "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	rule := regexp.MustCompile(`(?s)alert: PayledgerSlow\s+expr: \|\s+histogram_quantile\(([0-9.]+), sum by \(instance, route, le\)\s+\(rate\(` +
		`payledger_http_request_duration_seconds_bucket\{status=~"2xx\|4xx",route!~"[^"]+"\}\[5m\]\)\)\) > ([0-9.]+)\n`).FindSubmatch(rules)
	if rule == nil {
		t.Fatal("the alert PayledgerSlow is not as this test evaluates it")
	}
	q, err := strconv.ParseFloat(string(rule[1]), 64)
	limit, limitErr := strconv.ParseFloat(string(rule[2]), 64)
	if err != nil || limitErr != nil {
		t.Fatal(err, limitErr)
	}
	if slow, quick := quantile(t, page, "POST /payments/{id}/capture", q), quantile(t, page, "GET /payments", q); slow <= limit || quick > limit {
		t.Errorf("the 99th percentiles are %v and %v s, the alert's limit is %v s", slow, quick, limit)
	}
}

// TestMetricsAppendResults checks that an append counts by its result, and that a trace id that is
// no text or too long for an exemplar is left out.
func TestMetricsAppendResults(t *testing.T) {
	d := metrics.NewDurations()
	for _, err := range []error{nil, eventstore.ErrConflict, fmt.Errorf("%w: full", eventstore.ErrRefused), fmt.Errorf("%w: late", eventstore.ErrUnknown)} {
		d.Append("events", time.Millisecond, err, strings.Repeat("x", 200))
		d.Append("deliveries", time.Millisecond, err, "\xff")
	}
	page := histograms(t, d)
	for _, records := range []string{"events", "deliveries"} {
		for _, result := range []string{"stored", "conflict", "refused", "unknown"} {
			if want := `payledger_log_append_duration_seconds_count{records="` + records + `",result="` + result + `"} 1`; !strings.Contains(page, want) {
				t.Errorf("%s is missing in %s", want, page)
			}
		}
	}
	if strings.Contains(page, "trace_id") {
		t.Errorf("an exemplar: %s", page)
	}
}
