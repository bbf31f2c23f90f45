package metrics

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"payledger/projections"
	"payledger/projections/eventfeed"
)

// names returns the names of all metrics of a service, of its start too.
func names() map[string]bool {
	all := make(chan *prometheus.Desc)
	go func() {
		defer close(all)
		operations := func(context.Context, time.Time) ([]projections.PendingOperations, error) { return nil, nil }
		Config{Durations: NewDurations(), Events: &eventfeed.Feed{}, Operations: operations}.registry().Describe(all)
		all <- startEvents
		all <- startOf
	}()
	found := map[string]bool{"up": true} // Prometheus's own
	for d := range all {
		found[described.FindStringSubmatch(d.String())[1]] = true
	}
	return found
}

var (
	described = regexp.MustCompile(`fqName: "([^"]+)"`)
	// named matches the name of a metric in a text, without the end of a histogram's series.
	named = regexp.MustCompile(`\b(?:payledger|process|go)_[a-z0-9_]*?[a-z0-9](_bucket|_sum|_count)?\b`)
)

// TestNames checks that the alerts, the runbook, the dashboard and the contract name metrics that
// the service has, and that the alerts and the dashboard read every metric of its own.
func TestNames(t *testing.T) {
	exported, read := names(), map[string]bool{}
	for _, file := range []string{"deploy/prometheus/rules.yaml", "deploy/grafana/dashboard.json", "deploy/RUNBOOK.md", "httpapi/CONTRACT.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			name := m[0][:len(m[0])-len(m[1])]
			if !exported[name] && foreign[name] == "" {
				t.Errorf("%s names the metric %s, which the service has not", file, name)
			}
			read[name] = read[name] || filepath.Ext(file) != ".md"
		}
	}
	for name := range exported {
		if strings.HasPrefix(name, "payledger_") && !read[name] && foreign[name] == "" {
			t.Errorf("neither an alert nor the dashboard reads %s", name)
		}
	}
}

// foreign are names that look like metrics, and metrics that no alert and no panel reads, each with
// the reason.
var foreign = map[string]string{
	"payledger_start_events":        "of a start, which has its own page of metrics",
	"payledger_start_events_wanted": "of a start",
}
