package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/eventstore/nodes"
	"payledger/eventstore/secrets"
	"payledger/notifier/signature"
)

// hook is a webhook as it came.
type hook struct {
	header http.Header
	body   []byte
}

// inbox receives webhooks, answers them with status, and returns them on the channel.
func inbox(t *testing.T, status int) (string, <-chan hook) {
	t.Helper()
	came := make(chan hook, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		came <- hook{r.Header, body}
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	return server.URL, came
}

// sentTest is the answer of a test message.
type sentTest struct {
	StatusCode int    `json:"statusCode"`
	Failure    string `json:"failure"`
	Succeeded  bool   `json:"succeeded"`
}

// TestWebhookTestMessage: it goes to the endpoint with its current settings, signed by header, and the answer has its result
// (§6.1 rule 7, D17, D20); after a rotation a receiver verifies it with either secret (§5.2 rule 3).
func TestWebhookTestMessage(t *testing.T) {
	t.Parallel()
	app := startApp(t, testOptions(t.TempDir()))
	m := newMerchant(app.ready().API, app.credentials.APIKey)
	url, came := inbox(t, 204)
	var made struct {
		ID string `json:"id"`
	}
	m.must(t, "POST", "/management/webhook-endpoints", m.headers(), map[string]any{"url": url}).decode(t, &made)
	path := "/management/webhook-endpoints/" + made.ID
	change := func(fields map[string]any) { t.Helper(); m.must(t, "PATCH", path, m.headers(), fields) }
	send := func(want sentTest) {
		t.Helper()
		var got sentTest
		if m.must(t, "POST", path+"/test", m.headers(), nil).decode(t, &got); got != want {
			t.Errorf("answered %+v, want %+v", got, want)
		}
	}
	verify := func(h hook, secret string, want error) {
		t.Helper()
		if err := signature.Verify(h.header, h.body, time.Now(), secret); !errors.Is(err, want) {
			t.Errorf("verified as %v, want %v", err, want)
		}
	}
	change(map[string]any{"enabled": false}) // a test is sent to a disabled endpoint, too
	send(sentTest{StatusCode: 204, Succeeded: true})
	first := <-came
	verify(first, app.credentials.SigningSecret, nil)
	if first.header.Get(signature.HeaderSecondary) != "" {
		t.Error("a second signature without a rotation")
	}

	var rotated struct {
		SigningSecret string `json:"signingSecret"`
	}
	m.must(t, "POST", "/management/signing-secret/rotate", m.headers(), nil).decode(t, &rotated)
	verify(first, rotated.SigningSecret, signature.ErrMismatch)
	send(sentTest{StatusCode: 204, Succeeded: true})
	second := <-came
	verify(second, app.credentials.SigningSecret, nil)
	verify(second, rotated.SigningSecret, nil)

	moved, _ := inbox(t, 302)
	change(map[string]any{"url": moved})
	send(sentTest{StatusCode: 302, Failure: "STATUS"})
	change(map[string]any{"url": "http://127.0.0.1:1/"}) // an address without a listener
	send(sentTest{Failure: "CONNECTION_REFUSED"})
	m.must(t, "DELETE", path, m.headers(), nil)
	if a, err := m.call("POST", path+"/test", m.headers(), nil); err != nil || a.status != 404 {
		t.Errorf("a deleted endpoint: %d %s %v", a.status, a.body, err)
	}
}

// TestSpentSigningSecrets: the service destroys a secret that was rotated away when its 24 hours are over, not before,
// and never the current one (§5.2 rule 3).
func TestSpentSigningSecrets(t *testing.T) {
	t.Parallel()
	app := startApp(t, testOptions(t.TempDir()))
	m := newMerchant(app.ready().API, app.credentials.APIKey)
	id := app.credentials.AccountID
	m.must(t, "POST", "/management/signing-secret/rotate", m.headers(), nil)
	state, _ := app.views.Account(id)
	holds := func(number uint64) bool {
		t.Helper()
		_, err := app.ledger.Secrets.Get(context.Background(), secrets.SigningSecretName(id, number))
		if err != nil && !errors.Is(err, secrets.ErrGone) {
			t.Fatal(err)
		}
		return err == nil
	}
	for _, c := range []struct {
		at            time.Time
		first, second bool
	}{
		{state.Signing.Previous.ValidUntil.Add(-time.Microsecond), true, true},
		{state.Signing.Previous.ValidUntil, false, true},
		{state.Signing.Previous.ValidUntil.Add(1000 * time.Hour), false, true},
	} {
		app.recoverer.RunOnce(context.Background(), c.at)
		if first, second := holds(1), holds(2); first != c.first || second != c.second {
			t.Errorf("at %s the vault holds the first: %v, the second: %v", c.at, first, second)
		}
	}
}

// TestWebhooksShared: the nodes of a cluster share the sending of webhooks; a process with its own server is alone.
func TestWebhooksShared(t *testing.T) {
	t.Parallel()
	for _, registry := range []*nodes.Registry{nil, {}} {
		a := &App{options: options.Options{}, ledger: &ledger.Ledger{}, nodes: registry}
		if got := a.notifierConfig().Nodes != nil; got != (registry != nil) {
			t.Errorf("with nodes %v: %v", registry != nil, got)
		}
	}
}
