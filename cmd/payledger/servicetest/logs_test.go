package servicetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/url"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/developer"
	"payledger/cmd/payledger/terminal"
	"payledger/eventstore/commands/accounts"
)

// TestLogsTail checks that the account's requests come with method, path, status, errorId, request
// id and the key's name, without personal or secret data, and that requests of another account do
// not come.
func TestLogsTail(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	m := apptest.NewMerchant(app.API.URL, app.Credentials.APIKey)
	var other accounts.Credentials
	_, out, said := apptest.Invoke(t, "account", "create", "Second shop", "--data", app.Options.Data, "--json")
	if err := json.Unmarshal([]byte(out), &other); err != nil {
		t.Fatalf("%v: %s %s", err, out, said)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines, in := io.Pipe()
	notes := &bytes.Buffer{}
	ready, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		c := developer.LogsTail{Server: developer.Server{URL: m.API, APIKey: m.Key}}
		ended <- c.Run(ctx, terminal.Streams{Out: in, Err: io.MultiWriter(notes, write)}, nil)
		in.Close()
	}()
	if _, err := bufio.NewReader(ready).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	stranger := apptest.NewMerchant(m.API, other.APIKey)
	stranger.Must(t, "GET", "/payments", stranger.Headers(), nil)
	p := apptest.Buys(t, m, "order-1")
	for _, c := range []struct {
		method, path, body string
	}{
		{"GET", "/payments?customer_email_address=" + url.QueryEscape("ada@example.com"), ""},
		{"GET", "/payments/" + p.ID, ""},
		{"GET", "/payments/no-such-payment-of-ada@example.com", ""},
		{"POST", "/payments/" + p.ID + "/refund", `{"amount": 99999}`},
		{"POST", "/management/customers/ada@example.com/erase", ""},
		{"DELETE", "/payment-instruments/secrettokensecrettoken", ""},
		{"POST", "/management/webhook-listeners/none/answers", "{}"}, // as payledger listen does: not shown
		{"GET", "/elsewhere/ada@example.com", ""},
		{"PUT", "/payments", ""},
	} {
		if _, err := m.Call(c.method, c.path, m.Headers(), c.body); err != nil {
			t.Fatal(err)
		}
	}
	reader := bufio.NewReader(lines)
	var all strings.Builder
	for _, parts := range [][]string{
		{"POST", " /client-session ", " 200 ", " ms "}, {"POST", " /payment-instruments ", " 200 ", "client_token"}, {"POST", " /payments ", " 200 "},
		{"GET", " /payments ", " 200 "}, {"GET", " /payments/" + p.ID + " ", " 200 "}, {"GET", " /payments/… ", " 400 ", "PaymentError"},
		{"POST", " /payments/" + p.ID + "/refund ", " 400 ", "InvalidPaymentStatus"}, {"POST", " /management/customers/…/erase "},
		{"DELETE", " /payment-instruments/… ", " 400 ", "InvalidPaymentInstrumentToken"}, {"GET", " /elsewhere/… ", " 404 ", "NotFound"}, {"PUT", " /payments ", " 405 ", "MethodNotAllowed"},
	} {
		line, err := reader.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(line)
		for _, part := range parts {
			if !strings.Contains(line, part) {
				t.Errorf("the line %q lacks %q", line, part)
			}
		}
	}
	if text := all.String(); strings.Contains(text, "ada@") || strings.Contains(text, "secrettoken") || strings.Contains(text, m.Key) || strings.Contains(text, "99999") {
		t.Errorf("personal or secret:\n%s", text)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("a stopped tail returns %v", err)
	}

	filtered := m.Stream(t, "/management/request-log/stream?status=4xx&path=/payments/")
	filtered.Message(t, "ready")
	m.Must(t, "GET", "/payments/"+p.ID, m.Headers(), nil)
	a, err := m.Call("POST", "/payments/"+p.ID+"/refund", m.Headers(), `{"amount": 99999}`)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Status    int
		ErrorID   string
		RequestID string
		Caller    string
		KeyName   string
	}
	if err := json.Unmarshal(filtered.Message(t, "request"), &r); err != nil || r.Status != 400 || r.RequestID != a.Header.Get("X-Request-Id") || r.Caller != "api_key" || r.KeyName == "" {
		t.Errorf("%+v %v", r, err)
	}
	if status, _, said := apptest.Invoke(t, "logs", "tail", "--url", m.API, "--api-key", m.Key, "--status", "teapot"); status != 1 || strings.Count(said, "\n") != 1 || !strings.Contains(said, "$.status") {
		t.Errorf("a wrong status: %d %s", status, said)
	}
	if status, _, said := apptest.Invoke(t, "logs", "tail", "--url", "http://127.0.0.1:1", "--api-key", m.Key); status != 1 || strings.Count(said, "\n") != 1 {
		t.Errorf("no server: %d %s", status, said)
	}
}
