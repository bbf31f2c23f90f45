package servicetest

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/command"
	_ "payledger/domain/scratchtest"
	"payledger/processorsim/conformance"
	"payledger/processorsim/simulator"
)

// connector is a simulator over https, with its token and its certificate in files. change may
// change its answers.
func connector(t *testing.T, change func(http.Handler) http.Handler) []string {
	t.Helper()
	sim, err := simulator.New(simulator.Config{Dir: t.TempDir(), Secret: []byte("notification-secret"), Token: "token-of-the-ledger"})
	if err != nil {
		t.Fatal(err)
	}
	handler := sim.Handler()
	if change != nil {
		handler = change(handler)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // a client refuses the certificate
	server.StartTLS()
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	folder := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return []string{
		"processor-check", "--url", server.URL, "--processor-ca", file("ca.pem", string(authority)),
		"--processor-token-file", file("token", "token-of-the-ledger\n"), "--processor-secret-file", file("secret", "notification-secret\n"),
	}
}

func runCommand(args []string, more ...string) (status int, out, errs string) {
	var stdout, stderr bytes.Buffer
	status = command.Run(append(args[:len(args):len(args)], more...), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// TestProcessorCheck: the command prints a table or JSON, over https with a private authority.
func TestProcessorCheck(t *testing.T) {
	args := connector(t, nil)
	status, out, errs := runCommand(args, "--destructive", "--only", "token,key.repeat,fence.race,lookup.lost-answer,notification")
	if status != 0 || errs != "" || strings.Count(out, "\nholds ") != 4 || !strings.HasPrefix(out, "holds ") || !strings.Contains(out, "5 promises: 5 hold, 0 broken") {
		t.Errorf("%d %s%s", status, out, errs)
	}
	status, out, errs = runCommand(args, "--json")
	var report conformance.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || status != 0 || errs != "" {
		t.Fatalf("%d %s%s %v", status, out, errs, err)
	}
	if report.Processor != "ADYEN" || report.Destructive || len(report.Checks) != len(conformance.Checks()) || report.Count(conformance.Broken) > 0 {
		t.Errorf("%+v", report)
	}
}

// TestProcessorCheckFaults: a broken promise is status 1; a wrong use is 2, and so is a destructive
// run with real money.
func TestProcessorCheckFaults(t *testing.T) {
	live := connector(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/processors/STRIPE" {
				_, _ = w.Write([]byte(`{"protocol":1,"processor":"STRIPE","connector":"x\u001b[2J","live":true,"cannot":[]}`))
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	for _, row := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"--processor", "STRIPE", "--destructive"}, 2, "real money"},
		{[]string{"--only", "nothing"}, 2, "no such check"},
		{[]string{"--processor-token", "x"}, 2, "holds a secret"},
		{[]string{"--processor-ca", "nothing.pem", "--only", "token"}, 2, "--processor-ca"},
		{[]string{"--processor", "NOBODY"}, 1, "declares no processor"},
		{[]string{"--processor", "STRIPE", "--only", "token"}, 1, "breaks promises: 1"}, // its declaration needs no token
	} {
		status, out, errs := runCommand(live, row.args...)
		if status != row.status || !strings.Contains(errs, row.says) || strings.Count(errs, "\n") != 1 || strings.Contains(out+errs, "\x1b") {
			t.Errorf("%v: %d %s%s", row.args, status, out, errs)
		}
		if row.says == "breaks promises: 1" && (!strings.HasPrefix(out, "broken ") || !strings.Contains(out, "For the merchant: ") || !strings.Contains(out, "> GET /v1/processors/STRIPE\n")) {
			t.Errorf("%s", out)
		}
	}
	if status, _, errs := runCommand([]string{"processor-check", "--url", "http://127.0.0.1:1"}); status != 1 || !strings.Contains(errs, "cannot be reached") {
		t.Errorf("%d %s", status, errs)
	}
	if status, _, errs := runCommand([]string{"processor-check", "--url", live[2]}); status != 1 || !strings.Contains(errs, "certificate") {
		t.Errorf("an unknown authority: %d %s", status, errs)
	}
}
