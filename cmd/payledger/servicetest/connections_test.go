package servicetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// TestConnectionsShown: one processor does not answer, another refuses the token. Operators see
// both with the reason, merchants without it. The service stays ready. No text has a token.
func TestConnectionsShown(t *testing.T) {
	t.Parallel()
	adyen, stripe := openVendor(t, "token-of-a", "secret"), openVendor(t, "token-of-s", "secret")
	o, log := apptest.TestOptions(t.TempDir()), &logBuffer{}
	made := apptest.Initialized(t, o.Data)
	o.Processor = []string{"ADYEN=" + adyen.url, "STRIPE=" + stripe.url, "WORLDPAY=http://user:pass-word@127.0.0.1:1/hidden"}
	o.ProcessorToken, o.ProcessorSecret = []string{"ADYEN=token-of-a STRIPE=token-of-x"}, []string{"secret"}
	a, _ := startLogged(t, o, log)
	type state struct{ State, Since, Reason string }
	var ready struct {
		Ready      bool
		Processors map[string]state
	}
	want := map[string]string{"ADYEN": "ANSWERING", "STRIPE": "MISCONFIGURED", "WORLDPAY": "NOT_ANSWERING"}
	text := ""
	apptest.Until(t, time.Minute, "the states", func() (bool, string) {
		text = apptest.GetText(t, a.Ready().Admin+"/readyz", 200)
		if err := json.Unmarshal([]byte(text), &ready); err != nil {
			t.Fatal(err)
		}
		for name, state := range want {
			if ready.Processors[name].State != state {
				return false, text
			}
		}
		return ready.Ready && len(ready.Processors) == len(want), text
	})
	if s := ready.Processors["STRIPE"]; !strings.Contains(s.Reason, "401 unauthorized") || s.Since == "" || ready.Processors["ADYEN"] != (state{State: "ANSWERING"}) ||
		!strings.Contains(ready.Processors["WORLDPAY"].Reason, "connection refused") {
		t.Errorf("%s", text)
	}
	apptest.GetText(t, a.Ready().API+"/readyz", 200)
	m := apptest.NewMerchant(a.Ready().API, made.APIKey)
	list := string(m.Must(t, "GET", "/management/processors", m.Headers(), nil).Body)
	for _, says := range []string{`"connection":"ANSWERING"}`, `"connection":"MISCONFIGURED","connectionSince":"`, `"connection":"NOT_ANSWERING","connectionSince":"`, `"connection":"NO_ADDRESS"}`} {
		if !strings.Contains(list, says) {
			t.Errorf("it does not say %q: %s", says, list)
		}
	}
	metrics := apptest.GetText(t, a.Ready().Admin+"/metrics", 200)
	for _, line := range []string{`payledger_processor_answering{processor="ADYEN"} 1`, `payledger_processor_answering{processor="STRIPE"} 0`, `payledger_processor_answering{processor="WORLDPAY"} 0`} {
		if !strings.Contains(metrics, line) {
			t.Errorf("no line %s", line)
		}
	}
	for _, secret := range []string{"token-of", "pass-word", "hidden"} {
		if strings.Contains(text+metrics+list, secret) || log.count(secret) > 0 {
			t.Errorf("%q is shown", secret)
		}
	}
}

// TestUnfitShown: a processor answers about another amount, and then with garbage. Operators see
// how often and why, merchants how often. The payment is pending, the service is ready, and the
// processor still counts as answering.
func TestUnfitShown(t *testing.T) {
	t.Parallel()
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			_, _ = io.WriteString(w, `{"state":"SUCCEEDED","processorTransactionId":"t","at":"2026-03-01T12:00:00Z","amount":2501,"currency":"EUR"}`)
		case strings.HasSuffix(r.URL.Path, "/ADYEN"):
			_, _ = io.WriteString(w, `{"protocol":1,"processor":"ADYEN"}`)
		case strings.HasSuffix(r.URL.Path, "/disputes"):
			_, _ = io.WriteString(w, `{"notifications":[]}`)
		default:
			_, _ = io.WriteString(w, `<html>`)
		}
	}))
	defer bad.Close()
	o := apptest.TestOptions(t.TempDir())
	made := apptest.Initialized(t, o.Data)
	o.Processor, o.ProcessorSecret = []string{"ADYEN=" + bad.URL}, []string{"secret"}
	a, stop := startLogged(t, o, &logBuffer{})
	defer stop()
	m := apptest.NewMerchant(a.Ready().API, made.APIKey)
	go m.Pay(m.Token(t, "order-1", 2500, "4111111111111111"), "") // no goroutine reads the answer
	shown := func(text string, all ...string) bool {
		for _, one := range all {
			if !strings.Contains(text, one) {
				return false
			}
		}
		return true
	}
	apptest.Until(t, time.Minute, "garbage in readyz", func() (bool, string) {
		text := apptest.GetText(t, a.Ready().Admin+"/readyz", 200)
		return shown(text, `"ready":true`, `{"state":"ANSWERING"`, ` unfit answers in the last 10 minutes, the newest at `, `the answer cannot be parsed`, `"unfitAnswers":`), text
	})
	apptest.GetText(t, a.Ready().API+"/readyz", 200)
	if list := string(m.Must(t, "GET", "/management/processors", m.Headers(), nil).Body); !shown(list, `"connection":"ANSWERING","unfitAnswers":`) || shown(list, "parsed") {
		t.Error(list)
	}
	if text := apptest.GetText(t, a.Ready().Admin+"/metrics", 200); !shown(text, `payledger_processor_unfit_answers_total{processor="ADYEN"} `) || shown(text, `total{processor="ADYEN"} 0`) {
		t.Error("no metric, or 0")
	}
	if list := string(m.Must(t, "GET", "/payments", m.Headers(), nil).Body); !shown(list, `"status":"PENDING"`) {
		t.Error(list)
	}
}

// hangingPayments are more than the places of the API and of the pollers.
const hangingPayments = 200

// TestProcessorHangs: while all payments at one processor hang, payments at another one end, and
// its lost dispute notification is found.
func TestProcessorHangs(t *testing.T) {
	t.Parallel()
	var waiting atomic.Int64
	release := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get(protocol.HeaderIdempotencyKey) != "" {
			waiting.Add(1)
			defer waiting.Add(-1)
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}))
	stripe := openVendor(t, "", "secret")
	o := apptest.TestOptions(t.TempDir())
	made := apptest.Initialized(t, o.Data)
	o.Processor, o.ProcessorSecret = []string{"ADYEN=" + hanging.URL, "STRIPE=" + stripe.url}, []string{"secret"}
	o.DisputeLookup = 50 * time.Millisecond
	a, stop := startLogged(t, o, &logBuffer{})
	defer func() { close(release); stop(); hanging.Close() }()
	m := apptest.NewMerchant(a.Ready().API, made.APIKey)
	m.Must(t, "PUT", "/management/routing", m.Headers(), map[string]any{"rules": []any{
		map[string]any{"name": "dollars", "when": map[string]any{"currencyCode": []string{"USD"}}, "processors": []string{"STRIPE"}},
	}})
	for n := range hangingPayments {
		go m.Pay(m.Token(t, fmt.Sprint("order-", n), 2500, "4111111111111111"), "") // no goroutine reads the answer
	}
	apptest.Until(t, 2*time.Minute, "payments that hang", func() (bool, string) { return waiting.Load() == hangingPayments, fmt.Sprint(waiting.Load()) })
	for range 20 {
		if p, _ := m.Read(t, payIn(t, m, "USD", "4111111111111111")); p.Status != "AUTHORIZED" || p.Processor.Name != "STRIPE" {
			t.Fatalf("%+v", p)
		}
	}
	paid := payIn(t, m, "USD", "4111111111111111")
	m.Must(t, "POST", "/payments/"+paid+"/capture", m.Headers(), nil)
	if err := stripe.SetFault(context.Background(), protocol.Fault{Operation: processor.Dispute, Mode: protocol.DropBefore}); err != nil {
		t.Fatal(err)
	}
	if _, err := stripe.OpenDispute(context.Background(), protocol.DisputeOrder{Reference: domain.PaymentID(paid), Type: processor.Chargeback, ReasonCode: "10.4"}); err != nil {
		t.Fatal(err)
	}
	apptest.Until(t, time.Minute, "the dispute", func() (bool, string) {
		text := string(m.Must(t, "GET", "/management/disputes", m.Headers(), nil).Body)
		return strings.Contains(text, paid), text
	})
	if n := waiting.Load(); n != hangingPayments {
		t.Errorf("%d of %d payments still hang", n, hangingPayments)
	}
}
