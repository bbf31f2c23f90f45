package deploy_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestAlerts checks that RUNBOOK.md has a section for each alert, and for nothing else, and that
// the section names the alert's metrics.
func TestAlerts(t *testing.T) {
	text, err := os.ReadFile("prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	var alerts, sections []string
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			alerts = append(alerts, rule.Alert)
		}
	}
	runbook, err := os.ReadFile("RUNBOOK.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^### (Payledger\w+)$`).FindAllStringSubmatch(string(runbook), -1) {
		sections = append(sections, m[1])
	}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			_, section, _ := strings.Cut(string(runbook), "\n### "+rule.Alert+"\n")
			section, _, _ = strings.Cut(section, "\n#")
			for _, metric := range regexp.MustCompile(`\b(?:payledger|process)_\w+|\bup\b`).FindAllString(rule.Expr, -1) {
				if !strings.Contains(section, "`"+strings.TrimSuffix(metric, "_bucket")+"`") {
					t.Errorf("the section %s of RUNBOOK.md does not name %s", rule.Alert, metric)
				}
			}
		}
	}
	slices.Sort(alerts)
	slices.Sort(sections)
	if len(alerts) < 10 || !slices.Equal(sections, alerts) {
		t.Errorf("RUNBOOK.md has sections for %v, the alerts are %v", sections, alerts)
	}
}

// TestScrubLate: the alert on the scrub is silent while the scrub reads at its pace, however large
// the log is, and not when it takes three times as long.
func TestScrubLate(t *testing.T) {
	text, err := os.ReadFile("prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rule := regexp.MustCompile(`expr: payledger_scrub_age_seconds > (\d+) \* 3600 \+ (\d+) \* payledger_scrub_bytes / 16777216\n`).FindSubmatch(text)
	if rule == nil {
		t.Fatal("the expression of PayledgerScrubLate is another one")
	}
	hours, _ := strconv.ParseFloat(string(rule[1]), 64)
	times, _ := strconv.ParseFloat(string(rule[2]), 64)
	for _, gigabytes := range []float64{0, 1, 115, 200, 5000} {
		pass := gigabytes * 1e9 / (16 << 20)
		limit := hours*3600 + times*pass
		if oldest := 2*pass*1.2 + 600; oldest > limit { // what the reading itself takes counts, too
			t.Errorf("%v GB: a scrub at its pace has an age of %v s, the limit is %v s", gigabytes, oldest, limit)
		}
		if late := 2*3*pass + 600; gigabytes >= 200 && late < limit {
			t.Errorf("%v GB: a scrub that takes three times as long has an age of %v s, the limit is %v s", gigabytes, late, limit)
		}
	}
}

// ofAll are the metrics of the views: each node that has views exports them of the whole ledger.
var ofAll = regexp.MustCompile(`\bpayledger_(?:operations_waiting|operations_waiting_since_seconds|operations_next_lookup_seconds|webhook_deliveries_open|webhook_deliveries_oldest_open_seconds)\b`)

// overInstances matches a sum that counts the same operation once for each node.
var overInstances = regexp.MustCompile(`\bsum(?: by \(([^)]*)\))? ?\(`)

// TestDashboard: every panel of the dashboard has a title, an expression, and a place of its own.
// None sums over the nodes what each of them exports of the whole ledger.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("grafana/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			ID      int    `json:"id"`
			Title   string `json:"title"`
			Targets []struct{ Expr string }
			GridPos struct{ X, Y, W, H int }
		} `json:"panels"`
	}
	if err := json.Unmarshal(text, &board); err != nil || len(board.Panels) == 0 {
		t.Fatalf("the dashboard has %d panels: %v", len(board.Panels), err)
	}
	places := map[any]bool{}
	for _, p := range board.Panels {
		if p.Title == "" || len(p.Targets) == 0 || places[p.ID] || places[p.GridPos] || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("the panel %+v has no title, no expression or a place that is taken", p)
		}
		places[p.ID], places[p.GridPos] = true, true
		for _, target := range p.Targets {
			for _, sum := range overInstances.FindAllStringSubmatch(target.Expr, -1) {
				if ofAll.MatchString(target.Expr) && !strings.Contains(sum[1], "instance") {
					t.Errorf("the panel %q counts the ledger once for each node: %s", p.Title, target.Expr)
				}
			}
		}
	}
}
