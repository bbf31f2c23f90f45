package main

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// limit bounds every wait.
const limit = 2 * time.Minute

// service is a running yardstick.
type service struct {
	ready
	stop func() error
	wait func() error // for its end
}

// start runs yardstick on a folder, with further flags. It ends with the test.
func start(t *testing.T, data string, further ...string) *service {
	t.Helper()
	s, err := parse(append([]string{"--data", data, "--api-key", "key", "--signing-secret", "secret", "--pool", "4"}, further...))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, s, in)
		in.CloseWithError(io.EOF)
		ended <- err
	}()
	v := &service{}
	stopped := false
	v.wait = func() error {
		if stopped {
			return nil
		}
		stopped = true
		return <-ended
	}
	v.stop = func() error {
		cancel()
		return v.wait()
	}
	t.Cleanup(func() { v.stop() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(v.stop())
	}
	if err := json.Unmarshal(line, &v.ready); err != nil || !v.Ready || v.PID != os.Getpid() {
		t.Fatalf("ready line %s: %v", line, err)
	}
	return v
}

// call sends a request with the headers of a merchant, changed by more pairs, and returns status
// and body.
func (v *service) call(t *testing.T, method, path, body string, more ...string) (int, []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, v.API+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range append([][2]string{{"X-API-KEY", "key"}, {"X-API-VERSION", "2.4"}}, pairs(more)...) {
		request.Header.Set(header[0], header[1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, text
}

func pairs(flat []string) (all [][2]string) {
	for i := 0; i+1 < len(flat); i += 2 {
		all = append(all, [2]string{flat[i], flat[i+1]})
	}
	return all
}

// hasPostgres reports whether PostgreSQL is here. Its absence is logged, and fails in CI.
func hasPostgres(t *testing.T) bool {
	t.Helper()
	_, err := findPostgres("")
	if err != nil && os.Getenv("CI") != "" {
		t.Fatal(err)
	}
	if err != nil {
		t.Logf("NOT RUN: %v", err)
	}
	return err == nil
}

const body = `{"paymentMethodToken":"token-1","amount":2500,"currencyCode":"EUR","customerId":"customer-1","orderId":"order-1","metadata":{"shop":"north"}}`

// answered has the fields of a payment, or of an error, that the tests read.
type answered struct {
	ID         string
	Status     string
	OrderID    string
	CustomerID string
	Amount     int64
	Metadata   map[string]string
	Error      struct{ ErrorID, PaymentID, PaymentStatus string }
}

func decoded[T any](t *testing.T, text []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestService checks that a payment and its idempotency key survive a restart, and that its webhook
// arrives with the right signature.
func TestService(t *testing.T) {
	if !hasPostgres(t) {
		return
	}
	data := t.TempDir()
	v := start(t, data)

	status, first := v.call(t, "POST", "/payments", body, "X-Idempotency-Key", "key-1")
	paid := decoded[answered](t, first)
	if status != 200 || paid.Status != "AUTHORIZED" || paid.Amount != 2500 || paid.OrderID != "order-1" || paid.CustomerID != "customer-1" || paid.Metadata["shop"] != "north" {
		t.Fatalf("created: %d %s", status, first)
	}
	if err := v.stop(); err != nil {
		t.Fatal(err)
	}
	v = start(t, data)
	if status, text := v.call(t, "GET", "/payments/"+paid.ID, ""); status != 200 || string(text) != string(first) {
		t.Errorf("read after a restart: %d %s, created as %s", status, text, first)
	}
	status, text := v.call(t, "POST", "/payments", body, "X-Idempotency-Key", "key-1")
	if failed := decoded[answered](t, text).Error; status != 409 || failed.ErrorID != "IdempotencyKeyAlreadyExists" || failed.PaymentID != paid.ID || failed.PaymentStatus != "AUTHORIZED" {
		t.Errorf("repeated key: %d %s", status, text)
	}
	for range 2 { // without a key each request is a payment
		if status, text := v.call(t, "POST", "/payments", body); status != 200 {
			t.Errorf("without a key: %d %s", status, text)
		}
	}
	checkRefusals(t, v)
	checkMetrics(t, v)
	checkWebhook(t, v)
	if err := v.stop(); err != nil {
		t.Error(err)
	}
}

// checkRefusals checks the errors.
func checkRefusals(t *testing.T, v *service) {
	t.Helper()
	for _, c := range []struct {
		method, path, body string
		header             []string
		status             int
		id                 string
	}{
		{"POST", "/payments", body, []string{"X-API-KEY", "other"}, 401, "Unauthorized"},
		{"POST", "/payments", body, []string{"X-API-VERSION", "1.0"}, 400, "ApiVersionNotSupported"},
		{"POST", "/payments", body, []string{"X-API-VERSION", ""}, 400, "ApiVersionMissing"},
		{"POST", "/payments", "{", nil, 400, "MalformedJson"},
		{"POST", "/payments", strings.Replace(body, "2500", "-1", 1), nil, 422, "RequestValidationError"},
		{"POST", "/payments", strings.Replace(body, "EUR", "eur", 1), nil, 422, "RequestValidationError"},
		{"POST", "/payments", strings.Replace(body, "customer-1", "", 1), nil, 422, "RequestValidationError"},
		{"GET", "/payments/00000000-0000-7000-8000-000000000000", "", nil, 400, "PaymentError"},
		{"GET", "/payments/unknown", "", nil, 400, "PaymentError"},
		{"POST", "/management/webhook-endpoints", `{"url":"shop"}`, nil, 422, "RequestValidationError"},
	} {
		status, text := v.call(t, c.method, c.path, c.body, c.header...)
		if got := decoded[answered](t, text).Error.ErrorID; status != c.status || got != c.id {
			t.Errorf("%s %s %s %v: %d %s, expected %d %s", c.method, c.path, c.body, c.header, status, text, c.status, c.id)
		}
	}
}

// checkMetrics: the processor time has PostgreSQL's, which is more than nothing after its start.
func checkMetrics(t *testing.T, v *service) {
	t.Helper()
	_, text := v.call(t, "GET", "/metrics", "")
	found := regexp.MustCompile(`(?m)^process_cpu_seconds_total (\S+)$`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("metrics: %s", text)
	}
	if seconds, err := strconv.ParseFloat(string(found[1]), 64); err != nil || seconds <= 0 {
		t.Errorf("processor time %s: %v", found[1], err)
	}
}

// received is a webhook at the receiver.
type received struct {
	signature string
	body      []byte
}

// checkWebhook: an endpoint gets the payments from its registration on, and only those, signed.
func checkWebhook(t *testing.T, v *service) {
	t.Helper()
	arrived := make(chan received, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		arrived <- received{r.Header.Get("X-Signature-Primary"), text}
	}))
	defer receiver.Close()
	status, text := v.call(t, "POST", "/management/webhook-endpoints", `{"url":"`+receiver.URL+`","eventTypes":["PAYMENT.STATUS"]}`)
	if status != 200 {
		t.Fatalf("registered: %d %s", status, text)
	}
	path := "/management/webhook-endpoints/" + decoded[answered](t, text).ID
	_, text = v.call(t, "POST", "/payments", body)
	paid := decoded[answered](t, text)
	select {
	case w := <-arrived:
		sum := hmac.New(sha256.New, []byte("secret"))
		sum.Write(w.body)
		if w.signature != base64.StdEncoding.EncodeToString(sum.Sum(nil)) {
			t.Errorf("signature %s of %s", w.signature, w.body)
		}
		hook := decoded[struct {
			EventType, SignedAt string
			Payment             answered
		}](t, w.body)
		if hook.EventType != "PAYMENT.STATUS" || hook.SignedAt == "" || hook.Payment.ID != paid.ID || hook.Payment.Status != "AUTHORIZED" {
			t.Errorf("webhook %s of payment %s", w.body, paid.ID)
		}
	case <-time.After(limit):
		t.Fatal("no webhook")
	}
	for _, expected := range []int{200, 404} {
		if status, text := v.call(t, "DELETE", path, ""); status != expected {
			t.Errorf("deleted: %d %s, expected %d", status, text, expected)
		}
	}
}

// TestParseStat checks that a process whose name has spaces and parentheses is counted with its
// children.
func TestParseStat(t *testing.T) {
	text := "42 (a (b) c) S 7 1 1 0 -1 4194304 1 2 3 4 10 20 300 4000 20 0 1 0 5 6 7"
	if s := parseStat([]byte(text)); s != (stat{42, 7, 4330}) {
		t.Errorf("%+v", s)
	}
	if s := parseStat(nil); s.pid != 0 {
		t.Errorf("pid %d of an empty text", s.pid)
	}
}

// TestCollect: an event leaves the outbox when every endpoint took it, or after its last attempt.
func TestCollect(t *testing.T) {
	now := time.Unix(1_767_225_600, 0)
	rows := []pending{{event: uuid{Bytes: [16]byte{1}}}, {event: uuid{Bytes: [16]byte{2}}}, {event: uuid{Bytes: [16]byte{3}}, attempts: len(retryDelays)}, {event: uuid{Bytes: [16]byte{4}}}}
	o := collect(rows, []endpoint{{}, {}}, [][]int32{{200, 204}, {200, 302}, {0, 500}, {notWanted, 200}}, now)
	if len(o.done) != 3 || o.done[0] != rows[0].event || o.done[1] != rows[2].event || o.done[2] != rows[3].event {
		t.Errorf("done: %v", o.done)
	}
	if len(o.retried) != 1 || o.retried[0] != rows[1].event || !o.due[0].Equal(now.Add(retryDelays[0])) {
		t.Errorf("retried: %v at %v", o.retried, o.due)
	}
	if len(o.events) != 7 || o.attempts[4] != int32(len(retryDelays)+1) {
		t.Errorf("logged: %v, attempts %v", o.events, o.attempts)
	}
}
