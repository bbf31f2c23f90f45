package servicetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/eventstore/nodes"
	"payledger/eventstore/secrets"
	"payledger/notifier/signature"
)

// sentTest is the answer of a test message.
type sentTest struct {
	StatusCode int    `json:"statusCode"`
	Failure    string `json:"failure"`
	Succeeded  bool   `json:"succeeded"`
}

// TestWebhookTestMessage: it goes to the endpoint with its current settings, signed by header, and
// the answer has its result (§6.1 rule 7, D17, D20); after a rotation a receiver verifies it with
// either secret (§5.2 rule 3).
func TestWebhookTestMessage(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	url, came := apptest.Inbox(t, 204)
	var made struct {
		ID string `json:"id"`
	}
	m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": url}).Decode(t, &made)
	path := "/management/webhook-endpoints/" + made.ID
	change := func(fields map[string]any) { t.Helper(); m.Must(t, "PATCH", path, m.Headers(), fields) }
	send := func(want sentTest) {
		t.Helper()
		var got sentTest
		if m.Must(t, "POST", path+"/test", m.Headers(), nil).Decode(t, &got); got != want {
			t.Errorf("answered %+v, want %+v", got, want)
		}
	}
	verify := func(h apptest.Hook, secret string, want error) {
		t.Helper()
		if err := signature.Verify(h.Header, h.Body, time.Now(), secret); !errors.Is(err, want) {
			t.Errorf("verified as %v, want %v", err, want)
		}
	}
	change(map[string]any{"enabled": false}) // a test is sent to a disabled endpoint, too
	send(sentTest{StatusCode: 204, Succeeded: true})
	first := <-came
	verify(first, app.Credentials.SigningSecret, nil)
	if first.Header.Get(signature.HeaderSecondary) != "" {
		t.Error("a second signature without a rotation")
	}

	var rotated struct {
		SigningSecret string `json:"signingSecret"`
	}
	m.Must(t, "POST", "/management/signing-secret/rotate", m.Headers(), nil).Decode(t, &rotated)
	verify(first, rotated.SigningSecret, signature.ErrMismatch)
	send(sentTest{StatusCode: 204, Succeeded: true})
	second := <-came
	verify(second, app.Credentials.SigningSecret, nil)
	verify(second, rotated.SigningSecret, nil)

	moved, _ := apptest.Inbox(t, 302)
	change(map[string]any{"url": moved})
	send(sentTest{StatusCode: 302, Failure: "STATUS"})
	change(map[string]any{"url": "http://127.0.0.1:1/"}) // an address without a listener
	send(sentTest{Failure: "CONNECTION_REFUSED"})
	m.Must(t, "DELETE", path, m.Headers(), nil)
	if a, err := m.Call("POST", path+"/test", m.Headers(), nil); err != nil || a.Status != 404 {
		t.Errorf("a deleted endpoint: %d %s %v", a.Status, a.Body, err)
	}
}

// TestSpentSigningSecrets: the service destroys a secret that was rotated away when its 24 hours
// are over, not before, and never the current one (§5.2 rule 3).
func TestSpentSigningSecrets(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	id := app.Credentials.AccountID
	m.Must(t, "POST", "/management/signing-secret/rotate", m.Headers(), nil)
	state, _ := app.Views.Account(id)
	holds := func(number uint64) bool {
		t.Helper()
		_, err := app.Ledger.Secrets.Get(context.Background(), secrets.SigningSecretName(id, number))
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
		app.Recoverer.RunOnce(context.Background(), c.at)
		if first, second := holds(1), holds(2); first != c.first || second != c.second {
			t.Errorf("at %s the vault holds the first: %v, the second: %v", c.at, first, second)
		}
	}
}

// TestWebhooksShared: the nodes of a cluster share the sending of webhooks; a process with its own
// server is alone.
func TestWebhooksShared(t *testing.T) {
	t.Parallel()
	for _, registry := range []*nodes.Registry{nil, {}} {
		a := &app.App{Options: options.Options{}, Ledger: &ledger.Ledger{}, Nodes: registry}
		if got := a.NotifierConfig().Nodes != nil; got != (registry != nil) {
			t.Errorf("with nodes %v: %v", registry != nil, got)
		}
	}
}
