package servicetest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
	"payledger/cmd/payledger/demo"
	"payledger/cmd/payledger/terminal"
	"payledger/domain/seedtest"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/eventstoretest"
)

// TestDemoOnce plays the newcomer's story to its end (I1).
func TestDemoOnce(t *testing.T) {
	t.Parallel()
	status, out, stderr := apptest.Invoke(t, "demo", "--once")
	if status != 0 {
		t.Fatalf("demo --once exits %d: %s\n%s", status, stderr, out)
	}
	for _, part := range []string{
		"The demo keeps its files in ", "payment.authorized", "payment.declined", "received and verified", "INSUFFICIENT_FUNDS", "3DS_AUTHENTICATION",
		"PARTIALLY_SETTLED", "PAYMENT.REFUND", "PAYMENT.CAPTURE.FAILED", "GATEWAY_TIMEOUT", "DISPUTE.OPENED", "DISPUTE.STATUS OPEN", "31 events of 7 payments, each once", "Everything as expected: 31 events of 7 payments.",
		"the proof holds: 8 events", "one byte changed: ", "ADYEN: 1 of 7 authorizations refused",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("the story lacks %q:\n%s", part, out)
		}
	}
	if stderr != "" {
		t.Errorf("stderr says %s", stderr)
	}
}

// TestInit makes an account once, and refuses to do it twice (I1).
func TestInit(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	status, out, stderr := apptest.Invoke(t, "init", "--data", dir, "--json")
	var made accounts.Credentials
	if err := json.Unmarshal([]byte(out), &made); status != 0 || err != nil {
		t.Fatalf("init exits %d: %s %v", status, stderr, err)
	}
	for name, value := range map[string]string{
		"accountId": string(made.AccountID), "apiKey": made.APIKey, "signingSecret": made.SigningSecret,
		"dashboardUser": made.DashboardUser, "dashboardPassword": made.DashboardPassword,
	} {
		if value == "" {
			t.Errorf("init prints no %s", name)
		}
	}
	if made.Environment != "sandbox" {
		t.Errorf("init made an account of %s", made.Environment)
	}
	status, out, stderr = apptest.Invoke(t, "init", "--data", dir)
	if status != command.ExitFailure || out != "" || !strings.Contains(stderr, "already") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("a second init exits %d and says %q %q", status, out, stderr)
	}
	app := apptest.StartApp(t, apptest.TestOptions(dir))
	if app.Credentials != nil {
		t.Error("serve made another account")
	}
	apptest.NewMerchant(app.Ready().API, made.APIKey).Must(t, "GET", "/management/api-keys", apptest.NewMerchant("", made.APIKey).Headers(), nil)
}

// TestExitStatus: 2 for usage, 1 for a failure, with one line that names the fault and the remedy
// (I1).
func TestExitStatus(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	inUse := t.TempDir()
	apptest.StartApp(t, apptest.TestOptions(inUse))
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"no command", nil, command.ExitUsage, "Usage: payledger <command>"},
		{"unknown command", []string{"refund"}, command.ExitUsage, "unknown command refund (`payledger help` lists the commands)"},
		{"misspelled command", []string{"srve"}, command.ExitUsage, `did you mean one of "serve", "prove"?`},
		{"misspelled part of a command", []string{"credentials", "rest"}, command.ExitUsage, `did you mean "reset"?`},
		{"unknown flag", []string{"serve", "--speed", "9"}, command.ExitUsage, "--speed (`payledger help serve` lists its flags)"},
		{"misspelled flag", []string{"serve", "--lisen", "x"}, command.ExitUsage, `did you mean "--listen"?`},
		{"a connector of a running server", []string{"demo", "--processor", "x", "--url=http://127.0.0.1:1"}, command.ExitUsage, "leave --url out"},
		{"a crash at a connector", []string{"demo", "--crash", "--processor", "x"}, command.ExitUsage, "leave --processor out"},
		{"a connector that is not there", []string{"demo", "--once", "--processor", "no-such-program"}, command.ExitFailure, "is no program on PATH"},
		{"folder and server", []string{"history", "01x", "--data", "d", "--url=http://127.0.0.1:1"}, command.ExitUsage, "leave one of them out"},
		{"folder and server to reconcile", []string{"reconcile", "--processor", "ADYEN", "--data=d", "--url", "http://127.0.0.1:1"}, command.ExitUsage, "leave one of them out"},
		{"bad duration", []string{"serve", "--payment-timeout", "soon"}, command.ExitUsage, "payment-timeout"},
		{"zero duration", []string{"serve", "--payment-timeout", "0s"}, command.ExitUsage, "more than 0"},
		{"retries without a delay", []string{"serve", "--webhook-retry-delays", "10s,0s"}, command.ExitUsage, "webhook-retry-delays"},
		{"retries after days", []string{"serve", "--webhook-retry-delays", "10s,25h"}, command.ExitUsage, "webhook-retry-delays"},
		{"too many retries", []string{"serve", "--webhook-retry-delays", strings.Repeat("1s,", 20) + "1s"}, command.ExitUsage, "webhook-retry-delays"},
		{"no retention", []string{"serve", "--delivery-retention", "0s"}, command.ExitUsage, "delivery-retention"},
		{"a short retention", []string{"serve", "--delivery-retention", "59s"}, command.ExitUsage, "at least 1m0s"},
		{"analysts of a cluster", []string{"serve", "--nats-listen", "127.0.0.1:0", "--nats-url", "nats://127.0.0.1:1"}, command.ExitUsage, "leave one out"},
		{"a retention of no stream", []string{"serve", "--events-retention", "1h"}, command.ExitUsage, "--nats-listen"},
		{"a short retention of events", []string{"serve", "--nats-listen", "127.0.0.1:0", "--events-retention", "1s"}, command.ExitUsage, "at least 1m0s"},
		{"a bad retention", []string{"serve", "--delivery-retention", "90 days"}, command.ExitUsage, "delivery-retention"},
		{"a bad delay", []string{"serve", "--webhook-retry-delays", "10s,soon"}, command.ExitUsage, "webhook-retry-delays"},
		{"half of TLS", []string{"serve", "--tls-cert", "x"}, command.ExitUsage, "go together"},
		{"production without key", []string{"serve", "--environment", "production", "--processor-url", "http://127.0.0.1:1"}, command.ExitUsage, "PAYLEDGER_MASTER_KEY"},
		{"history without key", []string{"history", "01x"}, command.ExitUsage, "PAYLEDGER_API_KEY"},
		{"history of nothing", []string{"history", "01x", "--data", t.TempDir()}, command.ExitFailure, "holds no ledger"},
		{"history of a running server's folder", []string{"history", "01x", "--data", inUse}, command.ExitFailure, "--url"},
		{"folder in use", []string{"init", "--data", inUse}, command.ExitFailure, "in use"},
		{"a file as folder", []string{"init", "--data", os.Args[0]}, command.ExitFailure, "data folder"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, _, stderr := apptest.Invoke(t, c.args...)
			if status != c.status || !strings.Contains(stderr, c.says) {
				t.Errorf("exits %d and says %q; expected %d and %q", status, stderr, c.status, c.says)
			}
			if c.status == command.ExitFailure && strings.Count(stderr, "\n") != 1 {
				t.Errorf("a failure takes %d lines: %q", strings.Count(stderr, "\n"), stderr)
			}
		})
	}
}

// TestDemoHints: the commands at the end of the demo name the program as it was started, and the
// demo's folder.
func TestDemoHints(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	command.LookOn(terminal.Streams{Out: &out}, demo.Outlook{Payment: "PAYMENT", Data: "FOLDER"}, "")
	for _, command := range []string{"history PAYMENT --full", "trigger --list", "listen --forward-to ", "logs tail", "verify --data FOLDER"} {
		if !strings.Contains(out.String(), "\n  "+os.Args[0]+" "+command) {
			t.Errorf("the hints lack %q:\n%s", command, out.String())
		}
	}
}

// TestDemoThere plays the story against a running server that has other payments (I1). With the tag
// system it plays it twice.
func TestDemoThere(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	p := apptest.ServeProcess(t, "--data", t.TempDir(), "--payment-timeout", "15s", "--webhook-allow-cidr", "127.0.0.0/8")
	apptest.Buys(t, apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey), "order-1")
	stories := 2
	if seedtest.Sampled() {
		stories = 1
	}
	for range stories {
		status, out, stderr := apptest.Invoke(t, "demo", "--once", "--url", p.Ready.API+"/", "--api-key", p.Credentials.APIKey, "--signing-secret", p.Credentials.SigningSecret)
		if status != 0 || !strings.Contains(out, "Everything as expected: 31 events of 7 payments.") {
			t.Fatalf("demo --once --url exits %d: %s\n%s", status, stderr, out)
		}
	}
	for _, wrong := range []struct {
		args []string
		says string
	}{
		{[]string{"--api-key", p.Credentials.APIKey}, "--signing-secret"},
		{[]string{"--api-key", "plk_live_x", "--signing-secret", "x"}, "sandbox"},
	} {
		status, _, stderr := apptest.Invoke(t, append([]string{"demo", "--once", "--url", p.Ready.API}, wrong.args...)...)
		if status != command.ExitUsage || !strings.Contains(stderr, wrong.says) {
			t.Errorf("demo --url %v exits %d: %s", wrong.args, status, stderr)
		}
	}
	p.Stop()
}
