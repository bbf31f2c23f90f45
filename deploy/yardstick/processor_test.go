package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestParse checks the flags.
func TestParse(t *testing.T) {
	s, err := parse([]string{"--data", "pg", "--standbys", "2", "--processor", "http://127.0.0.1:8082/"})
	if err != nil || s.standbys != 2 || s.processor != "http://127.0.0.1:8082/" || s.pool != 32 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := parse([]string{"--data", "pg"}); err != nil || s.standbys != 0 || s.processor != "" {
		t.Errorf("without flags: %+v, %v", s, err)
	}
	for says, args := range map[string][]string{
		"--data DIR":                      {},
		"usage":                           {"--data", "pg", "more"},
		"--standbys must be from 0 to 5":  {"--data", "pg", "--standbys", "-1"},
		"--standbys must be from 0":       {"--data", "pg", "--standbys", "6"},
		"--pool must be from 1 to 1000":   {"--data", "pg", "--pool", "0"},
		"--processor must be like http:":  {"--data", "pg", "--processor", "127.0.0.1:8082"},
		"--processor must be like http:/": {"--data", "pg", "--processor", "ftp://127.0.0.1"},
	} {
		if _, err := parse(args); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, expected %q", args, err, says)
		}
	}
}

// TestOutcome: only a complete answer is an outcome.
func TestOutcome(t *testing.T) {
	for body, expected := range map[string]string{
		`{"state":"SUCCEEDED","processorTransactionId":"t"}`: approved,
		`{"state":"DECLINED","code":"05"}`:                   declined,
		`{"state":"FAILED","code":"technical_error"}`:        failedLast,
		`{"state":"SUCCEEDED"}`:                              "",
		`{"state":"PENDING","processorTransactionId":"t"}`:   "",
		`{`: "",
	} {
		o := outcome{body: []byte(body)}
		if err := o.read(); (err == nil) != (expected != "") || err == nil && o.status != expected {
			t.Errorf("%s: %s, %v", body, o.status, err)
		}
	}
}

// fakeProcessor is a processor with the answers of the test.
type fakeProcessor struct {
	*httptest.Server
	mu    sync.Mutex
	keys  []string
	say   string // "": 503
	calls func(o operation)
}

func newFakeProcessor(t *testing.T) *fakeProcessor {
	t.Helper()
	f := &fakeProcessor{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var o operation
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil || r.Method != "POST" || r.URL.Path != "/v1/processors/ADYEN/operations" {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.keys = append(f.keys, r.Header.Get("Idempotency-Key"))
		if f.calls != nil {
			f.calls(o)
		}
		if f.say == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, f.say)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fakeProcessor) set(say string, calls func(o operation)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.say, f.calls = say, calls
}

const succeeded = `{"state":"SUCCEEDED","processorTransactionId":"adyen_1","at":"2026-01-01T00:00:00Z"}`

// TestProcessor: a request is durable before the processor gets it, its outcome is in the answer,
// and a request without an outcome is sent again under its key by the next start.
func TestProcessor(t *testing.T) {
	if !hasPostgres(t) {
		return
	}
	f := newFakeProcessor(t)
	data := t.TempDir()
	v := start(t, data, "--processor", f.URL)
	f.set(succeeded, func(o operation) {
		status, text := v.call(t, "GET", "/payments/"+o.Reference, "")
		if p := decoded[answered](t, text); status != 200 || p.Status != "PENDING" || p.Amount != 2500 || p.Metadata["shop"] != "north" {
			t.Errorf("while the processor works, the payment is %d %s", status, text)
		}
		status, text = v.call(t, "POST", "/payments", body, "X-Idempotency-Key", "key-1")
		if failed := decoded[answered](t, text).Error; status != 409 || failed.PaymentID != o.Reference || failed.PaymentStatus != "PENDING" {
			t.Errorf("while the processor works, its key is %d %s", status, text)
		}
		if o.Amount != 2500 || o.Currency != "EUR" || o.Kind != "authorize" || o.Card.Number != theCard.Number {
			t.Errorf("the processor got %+v", o)
		}
	})
	status, text := v.call(t, "POST", "/payments", body, "X-Idempotency-Key", "key-1")
	paid := decoded[answered](t, text)
	if status != 200 || paid.Status != "AUTHORIZED" || !strings.Contains(string(text), `"processorTransactionId":"adyen_1"`) {
		t.Errorf("created: %d %s", status, text)
	}
	if _, again := v.call(t, "GET", "/payments/"+paid.ID, ""); string(again) != string(text) {
		t.Errorf("read as %s, created as %s", again, text)
	}
	f.set(`{"state":"DECLINED","code":"05","at":"2026-01-01T00:00:00Z"}`, nil)
	if status, text := v.call(t, "POST", "/payments", body); status != 200 || decoded[answered](t, text).Status != "DECLINED" {
		t.Errorf("declined: %d %s", status, text)
	}
	f.set("", nil)
	status, text = v.call(t, "POST", "/payments", body)
	open := decoded[answered](t, text)
	if status != 200 || open.Status != "PENDING" {
		t.Errorf("without an outcome: %d %s", status, text)
	}
	if err := v.stop(); err != nil {
		t.Fatal(err)
	}
	f.set(succeeded, nil)
	v = start(t, data, "--processor", f.URL)
	if status, text := v.call(t, "GET", "/payments/"+open.ID, ""); status != 200 || decoded[answered](t, text).Status != "AUTHORIZED" {
		t.Errorf("after a start: %d %s", status, text)
	}
	if err := v.stop(); err != nil {
		t.Error(err)
	}
	if key := open.ID + ".1"; len(f.keys) != 4 || !slices.Equal(f.keys[2:], []string{key, key}) {
		t.Errorf("the processor got the keys %v", f.keys)
	}
}
