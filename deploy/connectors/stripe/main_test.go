package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/deploy/connectors/stripe/api"
	"payledger/deploy/connectors/stripe/double"
)

// TestSettings: what is missing or dangerous is refused, and no error has a part of a secret.
func TestSettings(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key := write("key", apiKey+"\n")
	environment := map[string]string{
		"STRIPE_API_KEY": apiKey, "STRIPE_WEBHOOK_SECRET": webhookSecret, "PAYLEDGER_PROCESSOR_TOKEN": ledgerToken, "PAYLEDGER_PROCESSOR_SECRET": secret,
	}
	for name, row := range map[string]struct {
		args    []string
		without string // the variable
		good    bool
	}{
		"plain":           {nil, "", true},
		"key of a file":   {[]string{"--api-key-file", key}, "STRIPE_API_KEY", true},
		"public key":      {[]string{"--api-key-file", write("public", "pk_test_Abcdefgh")}, "STRIPE_API_KEY", false},
		"no key":          {nil, "STRIPE_API_KEY", false},
		"no token":        {nil, "PAYLEDGER_PROCESSOR_TOKEN", false},
		"no webhook":      {nil, "STRIPE_WEBHOOK_SECRET", false},
		"no secret":       {nil, "PAYLEDGER_PROCESSOR_SECRET", false},
		"file is absent":  {[]string{"--api-key-file", dir + "/absent"}, "STRIPE_API_KEY", false},
		"secret as flag":  {[]string{"--api-key", apiKey}, "STRIPE_API_KEY", false},
		"plain API":       {[]string{"--api-base", "http://stripe.example"}, "", false},
		"API of a test":   {[]string{"--api-base", "http://127.0.0.1:1"}, "", true},
		"API with a user": {[]string{"--api-base", "https://u:p@stripe.example"}, "", false},
		"return":          {[]string{"--return-url", "javascript:x"}, "", false},
	} {
		var c api.Config
		p := stripe(&c)
		err := p.Parse(append([]string{"--data", dir}, row.args...), func(name string) (string, bool) {
			text, is := environment[name]
			return text, is && name != row.without
		})
		if err == nil {
			_, err = p.Vendor(zerolog.Nop())
		}
		if (err == nil) != row.good {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (c.Key != apiKey || !slices.Equal(c.WebhookSecrets, []string{webhookSecret})) {
			t.Errorf("%s: %+v", name, c)
		}
		for _, hidden := range []string{apiKey, webhookSecret, secret, "Abcdefgh"} {
			if err != nil && strings.Contains(err.Error(), hidden) {
				t.Errorf("%s: the error has a secret: %v", name, err)
			}
		}
	}
}

// TestProgram: the program is healthy without Stripe, takes calls with the ledger's token only,
// keeps its folder to itself, and ends in order.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir, "http://127.0.0.1:1")
	if p.Live || !strings.HasPrefix(p.Events, p.URL+"/") {
		t.Errorf("%+v", p.Ready)
	}
	get := func(path, token string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	if status, text := get("/healthz", ""); status != http.StatusOK || text != `{"status":"ok"}` {
		t.Error(status, text)
	}
	if status, text := get("/v1/processors/STRIPE", ledgerToken); status != http.StatusOK || !strings.Contains(text, `"connector":"payledger-stripe/`) {
		t.Error(status, text)
	}
	if status, _ := get("/v1/processors/STRIPE", "other"); status != http.StatusUnauthorized {
		t.Error(status)
	}
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	if code := p.command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it ends with %d: %s", code, p.stderr)
	}
	for _, hidden := range []string{apiKey, webhookSecret, ledgerToken, secret} {
		if strings.Contains(p.stderr.String(), hidden) {
			t.Errorf("stderr has a secret: %s", p.stderr)
		}
	}
}

// TestOrderlyEnd: SIGTERM while Stripe works on an authorization waits for the result and records
// it.
func TestOrderlyEnd(t *testing.T) {
	w := newWorld(t)
	w.reference = "01end"
	held := &double.Fault{Mode: double.Held, Path: "/v1/payment_intents", Entered: make(chan struct{}), Release: make(chan struct{})}
	w.double.Order(held)
	op := w.op("authorize", "", 1000)
	go func() { _, _ = w.client.Send(t.Context(), op) }()
	<-held.Entered
	if err := w.process.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(100*time.Millisecond, func() { close(held.Release) })
	defer timer.Stop()
	<-w.process.ended
	calls := len(w.double.Calls())
	w.start()
	found, err := w.client.Lookup(t.Context(), op.Processor, op.Key)
	if err != nil || found.State != "KNOWN" || found.Answer.State != "SUCCEEDED" {
		t.Errorf("%+v %v", found, err)
	}
	if n := len(w.double.Calls()); n != calls {
		t.Errorf("the look-up after the start needed %d calls of Stripe", n-calls)
	}
}
