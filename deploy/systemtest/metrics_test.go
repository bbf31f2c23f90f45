//go:build system

package systemtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"payledger/domain/childtest"
)

// seen returns the metrics that a service exports while the demo's story is played against it.
func seen(t *testing.T) map[string]bool {
	t.Helper()
	program := payledger(t)
	serve := childtest.Tied(exec.Command(program, "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0",
		"--payment-timeout", "15s", "--webhook-allow-cidr", "127.0.0.0/8"))
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		serve.Process.Signal(syscall.SIGTERM)
		serve.Wait()
	})
	var ready struct {
		Credentials struct{ APIKey, SigningSecret string }
		Ready       bool
		API, Admin  string
	}
	for lines := bufio.NewScanner(out); !ready.Ready && lines.Scan(); {
		if err := json.Unmarshal(lines.Bytes(), &ready); err != nil {
			t.Fatal(err)
		}
	}
	if !ready.Ready {
		t.Fatal("serve ended before it was ready")
	}
	story := childtest.Tied(exec.Command(program, "demo", "--once", "--url", ready.API, "--api-key", ready.Credentials.APIKey, "--signing-secret", ready.Credentials.SigningSecret))
	played := make(chan error, 1)
	go func() {
		said, err := story.CombinedOutput()
		if err != nil {
			err = &buildError{string(said), err}
		}
		played <- err
	}()
	metrics := map[string]bool{"up": true} // Prometheus's own
	tick, late := time.NewTicker(50*time.Millisecond), time.After(5*time.Minute)
	defer tick.Stop()
	for ended := false; ; {
		open := false
		answer, err := http.Get(ready.Admin + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if name := sample.FindString(lines.Text()); name != "" {
				metrics[name] = true
				open = open || name == "payledger_webhook_deliveries_oldest_open_seconds"
			}
		}
		answer.Body.Close()
		if ended && open {
			return metrics
		}
		select {
		case err := <-played:
			if err != nil {
				t.Fatal(err)
			}
			ended, played = true, nil
			neverTakes(t, ready.API, ready.Credentials.APIKey)
		case <-late:
			t.Fatalf("the demo's story has ended: %t; a delivery is open: %t", ended, open)
		case <-tick.C:
		}
	}
}

// neverTakes replays webhooks to an endpoint that refuses everything: its deliveries stay open.
func neverTakes(t *testing.T, api, key string) {
	t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	t.Cleanup(receiver.Close)
	post := func(path, body string) (made struct{ ID string }) {
		r, err := http.NewRequest(http.MethodPost, api+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"X-Api-Key": {key}, "X-Api-Version": {"2.4"}, "Content-Type": {"application/json"}}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if err := json.NewDecoder(answer.Body).Decode(&made); err != nil || made.ID == "" {
			t.Fatalf("%s answers %s: %v", path, answer.Status, err)
		}
		return made
	}
	endpoint := post("/management/webhook-endpoints", `{"url":"`+receiver.URL+`","description":"refuses everything","eventTypes":["PAYMENT.STATUS"]}`)
	now := time.Now().UTC()
	post("/management/webhook-replays", fmt.Sprintf(`{"endpointId":%q,"from":%q,"to":%q}`, endpoint.ID, now.Add(-time.Hour).Format(time.RFC3339), now.Format(time.RFC3339)))
}

var sample = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*`)

// TestMetrics: the alerts and the dashboard are valid, read only metrics that the service has, and
// read all of payledger's own.
func TestMetrics(t *testing.T) {
	check, there := checker(t)
	if !there {
		return
	}
	rules, err := check("", "rules", "../prometheus/rules.yaml")
	if err != nil || len(rules.Alerts) < 10 {
		t.Fatalf("the rules have %d alerts: %v", len(rules.Alerts), err)
	}
	all := expressions(t)
	shown, err := check(strings.Join(all, "\n"), "metrics")
	if err != nil || len(all) < 15 {
		t.Fatalf("the dashboard has %d expressions: %v", len(all), err)
	}
	if _, err := check("sum(payledger_log_healthy", "metrics"); err == nil {
		t.Error("a wrong expression passes")
	}
	exported := seen(t)
	read := append(rules.Metrics, shown.Metrics...)
	shows := map[string]bool{} // the series of a histogram are read together
	for _, metric := range read {
		shows[histogram.ReplaceAllString(metric, "$1")] = true
	}
	for _, metric := range read {
		if !exported[metric] {
			t.Errorf("the service has no metric %s", metric)
		}
	}
	for metric := range exported {
		if strings.HasPrefix(metric, "payledger_") && !shows[histogram.ReplaceAllString(metric, "$1")] {
			t.Errorf("neither an alert nor the dashboard reads %s", metric)
		}
	}
}

// histogram matches the names of a histogram's series.
var histogram = regexp.MustCompile(`^(.*_seconds)_(?:bucket|sum|count)$`)

// expressions returns those of the dashboard, with values for its variables.
func expressions(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile("../grafana/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			all = append(all, strings.ReplaceAll(target.Expr, "$__rate_interval", "1m"))
		}
	}
	return all
}
