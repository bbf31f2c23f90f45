package servicetest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"payledger/cmd/payledger/metrics"
	"payledger/projections"
	"payledger/projections/eventfeed"
)

// metricNames returns the names of all metrics of a service, of its start too.
func metricNames() map[string]bool {
	all := make(chan *prometheus.Desc)
	go func() {
		defer close(all)
		operations := func(context.Context, time.Time) ([]projections.PendingOperations, error) { return nil, nil }
		metrics.Config{Durations: metrics.NewDurations(), Events: &eventfeed.Feed{}, Operations: operations}.Registry().Describe(all)
	}()
	found := map[string]bool{"up": true} // Prometheus's own
	for d := range all {
		found[describedMetric.FindStringSubmatch(d.String())[1]] = true
	}
	page := httptest.NewRecorder()
	metrics.Starting(func() metrics.Start { return metrics.Start{} }).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, m := range regexp.MustCompile(`(?m)^# TYPE ([a-z_]+) `).FindAllStringSubmatch(page.Body.String(), -1) {
		found[m[1]] = true
	}
	return found
}

var (
	describedMetric = regexp.MustCompile(`fqName: "([^"]+)"`)
	// namedMetric matches the name of a metric in a text, without the end of a histogram's series.
	namedMetric = regexp.MustCompile(`\b(?:payledger|process|go)_[a-z0-9_]*?[a-z0-9](_bucket|_sum|_count)?\b`)
)

// TestMetricsNames checks that the alerts, the runbook, the dashboard and the contract name metrics
// that the service has, and that the alerts and the dashboard read every metric of its own.
func TestMetricsNames(t *testing.T) {
	exported, read := metricNames(), map[string]bool{}
	for _, file := range []string{"deploy/prometheus/rules.yaml", "deploy/grafana/dashboard.json", "deploy/RUNBOOK.md", "httpapi/CONTRACT.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range namedMetric.FindAllStringSubmatch(string(text), -1) {
			name := m[0][:len(m[0])-len(m[1])]
			if !exported[name] && foreignMetrics[name] == "" {
				t.Errorf("%s names the metric %s, which the service has not", file, name)
			}
			read[name] = read[name] || filepath.Ext(file) != ".md"
		}
	}
	for name := range exported {
		if strings.HasPrefix(name, "payledger_") && !read[name] && foreignMetrics[name] == "" {
			t.Errorf("neither an alert nor the dashboard reads %s", name)
		}
	}
}

// foreignMetrics are names that look like metrics, and metrics that no alert and no panel reads,
// each with the reason.
var foreignMetrics = map[string]string{
	"payledger_start_events":        "of a start, which has its own page of metrics",
	"payledger_start_events_wanted": "of a start",
}
