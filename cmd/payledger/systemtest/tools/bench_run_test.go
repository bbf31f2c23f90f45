//go:build system

package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
	"payledger/eventstore/eventstoretest"
)

// benchReport is the answer of bench --json (I1).
type benchReport struct {
	Scenario                                                                         string
	Concurrency, Requests, Errors                                                    int
	Seconds, PerSecond, P50Ms, P99Ms, P999Ms, EventsPerSecond, ServerCPUMsPerRequest float64
	Yardsticks                                                                       map[string]struct{ PerSecond, P50Ms float64 }
	Ratios                                                                           map[string]float64
}

// TestBench runs every scenario against the program: no request fails, and every figure of I1 is
// there.
func TestBench(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	p := apptest.ServeProcess(t, "--data", t.TempDir(), "--webhook-allow-cidr", "127.0.0.0/8", "--log-level", "error")
	arguments := []string{"bench", "--url", p.Ready.API, "--admin-url", p.Ready.Admin, "--api-key", p.Credentials.APIKey, "--concurrency", "2", "--duration", "1s", "--rounds", "1"}
	t.Run("scenarios", func(t *testing.T) {
		for _, scenario := range []string{"authorize", "lifecycle", "read", "webhooks", "replay"} {
			t.Run(scenario, func(t *testing.T) {
				t.Parallel()
				status, out, stderr := apptest.Invoke(t, append(arguments, "--json", "--scratch", t.TempDir(), "--scenario", scenario)...)
				if status != 0 || stderr != "" {
					t.Fatalf("exits %d: %s", status, stderr)
				}
				checkBench(t, out, scenario)
			})
		}
	})
	m := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey)
	if left := string(m.Must(t, "GET", "/management/webhook-endpoints", m.Headers(), nil).Body); strings.Contains(left, "payledger bench") {
		t.Errorf("a webhook endpoint stays: %s", left)
	}
	status, out, stderr := apptest.Invoke(t, append(arguments, "--admin-url", "")...)
	for _, part := range []string{"authorize over 2 connections", "0 errors", "durablePublish", "fsync", "roundTrip", "p50/(2*fsync+roundTrip)", "█"} {
		if status != 0 || !strings.Contains(out, part) {
			t.Errorf("exits %d, lacks %q: %s %s", status, part, stderr, out)
		}
	}
	p.Stop()
}

// checkBench checks the report of a short run.
func checkBench(t *testing.T, out, scenario string) {
	t.Helper()
	var names map[string]json.RawMessage
	var r benchReport
	if err := json.Unmarshal([]byte(out), &names); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range strings.Fields("scenario concurrency seconds requests errors perSecond p50Ms p99Ms p999Ms eventsPerSecond serverCpuMsPerRequest yardsticks ratios") {
		if names[name] == nil {
			t.Errorf("no %s: %s", name, out)
		}
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	writes := scenario != "read" // that payments are made at the same time is chance
	if r.Scenario != scenario || r.Concurrency != 2 || r.Requests == 0 || r.Errors != 0 || r.Seconds < 1 || r.ServerCPUMsPerRequest <= 0 || writes && r.EventsPerSecond <= 0 {
		t.Errorf("implausible: %s", out)
	}
	if rate := float64(r.Requests) / r.Seconds; r.PerSecond < 0.999*rate || r.PerSecond > 1.001*rate || r.P50Ms <= 0 || r.P99Ms < r.P50Ms || r.P999Ms < r.P99Ms {
		t.Errorf("implausible rate or latencies: %s", out)
	}
	for _, name := range []string{"fsync", "durablePublish", "roundTrip"} {
		if y := r.Yardsticks[name]; y.PerSecond <= 0 || y.P50Ms <= 0 {
			t.Errorf("no yardstick %s: %s", name, out)
		}
	}
	ratio := "p50/(2*fsync+roundTrip)"
	if scenario == "read" || scenario == "replay" {
		ratio = "p50/roundTrip"
	}
	if r.Ratios[ratio] <= 0 || writes && r.Ratios["eventsPerSecond/durablePublish"] <= 0 {
		t.Errorf("no ratio %s: %s", ratio, out)
	}
}

// TestBenchRefused: bench makes no payments with a live key, and names what a server or a key
// lacks.
func TestBenchRefused(t *testing.T) {
	t.Parallel()
	o := apptest.TestOptions(t.TempDir())
	o.WebhookAllowCIDR = nil
	app := apptest.StartApp(t, o)
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	var made struct{ APIKey string }
	m.Must(t, "POST", "/management/api-keys", m.Headers(), map[string]any{"name": "reader", "scopes": []string{"transactions:retrieve"}}).Decode(t, &made)
	for _, c := range []struct {
		name, key, scenario string
		status              int
		says                string
	}{
		{"live", "plk_live_x", "authorize", command.ExitUsage, "--api-key is of production: bench makes payments"},
		{"none", "", "authorize", command.ExitUsage, "PAYLEDGER_API_KEY"},
		{"unknown", "plk_sandbox_x", "authorize", command.ExitFailure, "use a key of this server"},
		{"without scopes", made.APIKey, "authorize", command.ExitFailure, "lacks the scope"},
		{"webhooks", app.Credentials.APIKey, "webhooks", command.ExitFailure, "start it with --webhook-allow-cidr 127.0.0.0/8"},
	} {
		args := []string{"bench", "--url", app.Ready().API, "--admin-url", app.Ready().Admin, "--scenario", c.scenario, "--scratch", t.TempDir()}
		if c.key != "" {
			args = append(args, "--api-key", c.key)
		}
		status, out, stderr := apptest.Invoke(t, args...)
		if status != c.status || !strings.Contains(stderr, c.says) || out != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exits %d %q and says %q; expected %d and %q", c.name, status, out, stderr, c.status, c.says)
		}
	}
}
