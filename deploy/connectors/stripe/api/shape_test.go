package api_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/deploy/connectors/stripe/api"
	"payledger/deploy/connectors/stripe/double"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
	"payledger/processorsim/protocol"
)

// stripeMock builds and starts Stripe's own mock, which checks requests against Stripe's published
// description of its API, and returns its address.
func stripeMock(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "stripe-mock")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/stripe/stripe-mock")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	ctx, cancel := context.WithCancel(context.Background())
	mock := exec.CommandContext(ctx, program, "-http-addr", "127.0.0.1:0")
	out, err := mock.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := mock.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = mock.Wait() })
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if found := address.FindString(lines.Text()); found != "" {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return "http://" + found
		}
	}
	t.Fatal("the mock names no address")
	return ""
}

// calls records requests to Stripe, and the statuses of its answers.
type calls struct {
	mu   sync.Mutex
	made map[string]int // method and path without ids, and status
}

var id = regexp.MustCompile(`/(pi|re|du|seti|pm)_\w+`)

func (c *calls) RoundTrip(r *http.Request) (*http.Response, error) {
	var asked []byte
	if r.Body != nil {
		asked, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(asked))
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if r.URL.Path == "/v1/setup_intents" { // the mock does not repeat metadata
		form, _ := url.ParseQuery(string(asked))
		text, _ := io.ReadAll(answer.Body)
		text = regexp.MustCompile(`"metadata": *(\{\}|null)`).ReplaceAll(text, []byte(`"metadata":{"payledger_sealed":"`+form.Get("metadata[payledger_sealed]")+`"}`))
		answer.Body = io.NopCloser(bytes.NewReader(text))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	call := r.Method + " " + id.ReplaceAllString(r.URL.Path, "/ID")
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		answer.Body = io.NopCloser(strings.NewReader(string(text)))
		call += " " + string(text)
	}
	if r.Header.Get("Stripe-Version") != "2026-02-25.clover" || r.Method == http.MethodPost && r.Header.Get("Idempotency-Key") == "" {
		call += " without version or key"
	}
	c.made[call]++
	return answer, nil
}

// TestShape: every request has the shape that Stripe publishes.
func TestShape(t *testing.T) {
	made := &calls{made: map[string]int{}}
	s, err := api.New(api.Config{Key: apiKey, WebhookSecrets: []string{webhookSecret}, Base: stripeMock(t), Multicapture: true, ReturnURL: "https://shop.example/back", Transport: made})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	authorize := order(processor.Authorize, "")
	authorize.Card = card("4242424242424242")
	authorize.AuthorizationType, authorize.Descriptor = "ESTIMATED", "Shop 17"
	absent := authorize
	absent.PaymentType = "SUBSCRIPTION"
	verify := authorize
	verify.Amount = 0
	stored := tokenized("4242424242424242")
	again, verifyAgain := byToken("cus_1:pm_1"), byToken("cus_1:pm_1")
	verifyAgain.Amount = 0
	orders := []connector.Order{authorize, absent, verify, stored, again, verifyAgain}
	for _, kind := range []processor.Kind{processor.Capture, processor.Void, processor.Refund, processor.Adjust, processor.Complete} {
		o := order(kind, "pi_1")
		o.Parent = &connector.Parent{Operation: authorize.Operation, Answer: processor.Answer{State: processor.Succeeded, ProcessorTransactionID: "pi_1"}}
		if kind == processor.Complete {
			o.Parent.Answer.State, o.Outcome = processor.ActionRequired, processor.Authenticated
		}
		if kind == processor.Adjust {
			o.Amount++
		}
		orders = append(orders, o)
	}
	checked := order(processor.Complete, "seti_1")
	checked.Amount, checked.Outcome = 0, processor.AuthenticationFailed
	checked.Parent = &connector.Parent{Operation: verify.Operation, Answer: processor.Answer{State: processor.ActionRequired, ProcessorTransactionID: "seti_1"}}
	orders = append(orders, checked)
	// The mock answers with examples, which fit no order: only the requests count.
	for _, o := range orders {
		_, _ = s.Send(ctx, o)
		_, _ = s.Find(ctx, o)
	}
	pending := order(processor.Refund, "pi_1")
	pending.Answer = &processor.Answer{State: processor.Pending, ProcessorTransactionID: "re_1"}
	_, _ = s.Find(ctx, pending)
	_ = s.List(ctx, protocol.Filter{From: time.Unix(1, 0), To: time.Now()}, nil, func(protocol.Entry) error { return nil })
	_ = s.List(ctx, protocol.Filter{Reference: reference}, []string{"pi_1"}, func(protocol.Entry) error { return nil })
	for object, kind := range map[string]string{"payment_intent": "payment_intent.succeeded", "refund": "refund.updated", "dispute": "charge.dispute.created"} {
		prefix := map[string]string{"payment_intent": "pi", "refund": "re", "dispute": "du"}[object]
		body := []byte(`{"id":"evt_1","type":"` + kind + `","livemode":false,"data":{"object":{"id":"` + prefix + `_1","object":"` + object + `"}}}`)
		_, _ = s.Events(ctx, http.Header{"Stripe-Signature": {double.Signature(webhookSecret, time.Now(), body)}}, body)
	}
	want := []string{
		"GET /v1/balance_transactions", "GET /v1/disputes/ID", "GET /v1/payment_intents", "GET /v1/payment_intents/ID", "GET /v1/refunds", "GET /v1/refunds/ID", "GET /v1/setup_intents",
		"GET /v1/setup_intents/ID",
		"POST /v1/customers", "POST /v1/payment_intents", "POST /v1/payment_intents/ID/cancel", "POST /v1/payment_intents/ID/capture",
		"POST /v1/payment_intents/ID/increment_authorization", "POST /v1/payment_methods", "POST /v1/refunds", "POST /v1/setup_intents", "POST /v1/setup_intents/ID/cancel",
	}
	var got []string
	for call := range made.made {
		got = append(got, call)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the calls are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
