package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/httpapi"
	"payledger/projections/deliveries"
)

// TestMistakesAreNamed checks the answers to typical mistakes of new users (D3).
func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	post := func(path, body string) answer { return r.do(request{method: "POST", path: path, body: body}) }
	minor := " must be an integer between 0 and 9007199254740991, in minor units: 1050 for 10.50 EUR"
	a := r.want(post("/client-session", `{"orderID":"o","currencyCode":"EUR","amount":10.50,"order":{"lineItems":[{"item_id":"a","amount":"10.50"}]},"customer":{"Email":"a@example.com"}}`),
		422, "RequestValidationError")
	want := []string{
		"ClientSessionCreation $.amount" + minor,
		"ClientSessionCreation $.customer.Email is not a known field; did you mean email?",
		"ClientSessionCreation $.order.lineItems[0].amount" + minor,
		"ClientSessionCreation $.order.lineItems[0].item_id is not a known field; did you mean itemId?",
		"ClientSessionCreation $.orderID is not a known field; did you mean orderId?",
	}
	if got := unprefixed(a.faults()); !slices.Equal(got, unprefixed(want)) {
		t.Errorf("faults %q", got)
	}
	if got := r.want(r.do(request{method: "GET", path: "/payments?orderId=x"}), 422, "RequestValidationError").faults(); !slices.Equal(got, []string{"QueryString $.orderId is not a known parameter; did you mean order_id?"}) {
		t.Errorf("faults %q", got)
	}
	suggests := func(a answer, text string) {
		t.Helper()
		if got := a.text1("error", "recoverySuggestion"); !strings.Contains(got, text) {
			t.Errorf("%s suggests %q, not %q", a.errorID(), got, text)
		}
	}
	suggests(r.want(post("/client-sessions", `{}`), 404, "NotFound"), "Did you mean /client-session?")
	suggests(r.want(post("/payments/x/refunds", `{}`), 404, "NotFound"), "Did you mean /payments/{id}/refund?")
	suggests(r.want(r.do(request{method: "PUT", path: "/payments"}), 405, "MethodNotAllowed"), "Allow")
	headers := func(h map[string]string) answer {
		return r.do(request{method: "GET", path: "/payments", header: h})
	}
	suggests(r.want(headers(map[string]string{"X-Api-Key": "", "Api-Key": "x"}), 401, "Unauthorized"), "the header Api-Key; did you mean X-API-KEY?")
	suggests(r.want(headers(map[string]string{"X-Api-Key": "", "Authorization": "Bearer x"}), 401, "Unauthorized"), "Authorization is not read")
	suggests(r.want(headers(map[string]string{"X-Api-Key": "plk_sandbox_x"}), 401, "Unauthorized"), "Send an API key of this environment")
	suggests(r.want(headers(map[string]string{"X-Api-Version": "", "Api-Version": "2.4"}), 400, "ApiVersionMissing"), "the header Api-Version; did you mean X-API-VERSION?")
	before := r.events()
	key := r.do(request{method: "POST", path: "/payments", body: `{"paymentMethodToken":"t"}`, header: map[string]string{"Idempotency-key": "k"}})
	if got := r.want(key, 422, "RequestValidationError").faults(); !slices.Equal(got, []string{"Headers $['Idempotency-Key'] is not a known header; did you mean X-Idempotency-Key?"}) {
		t.Errorf("faults %q", got)
	}
	if r.events() != before {
		t.Error("a request whose idempotency key was misspelled was carried out")
	}
}

// unprefixed takes the model away.
func unprefixed(faults []string) (out []string) {
	for _, f := range faults {
		_, rest, _ := strings.Cut(f, " ")
		out = append(out, rest)
	}
	return out
}

// TestSuggestionsByStatus: the refusal of an operation that the status does not allow suggests an
// alternative (D7).
func TestSuggestionsByStatus(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pay := func(card string) string {
		return r.want(r.do(request{method: "POST", path: "/payments", body: `{"paymentMethodToken":"` + r.tokenize(r.session(someSession), card) + `"}`}), 200, "").text1("id")
	}
	on := func(id, operation, body string) answer {
		return r.do(request{method: "POST", path: "/payments/" + id + "/" + operation, body: body})
	}
	settled, declined, authorized := pay(goodCard), pay(declinedCard), pay(goodCard)
	r.want(on(settled, "capture", ""), 200, "")
	for _, c := range []struct {
		id, operation, body string
		status              int
		errorID, text       string
	}{
		{settled, "cancel", "", 400, "InvalidPaymentStatus", "A settled payment is refunded, not cancelled: POST /payments/{id}/refund."},
		{settled, "capture", "", 400, "InvalidPaymentStatus", "create another payment of the difference: POST /payments."},
		{settled, "refund", `{"amount":99999}`, 422, "UnprocessableRefundAmount", "in minor units"},
		{settled, "resume", `{"resumeToken":"x"}`, 400, "InvalidPaymentStatus", "requiredAction"},
		{declined, "cancel", "", 400, "InvalidPaymentStatus", "nothing is left to cancel"},
		{declined, "capture", "", 400, "InvalidPaymentStatus", "create another payment"},
		{declined, "refund", "", 400, "InvalidPaymentStatus", "Nothing was captured"},
		{authorized, "refund", "", 400, "InvalidPaymentStatus", "POST /payments/{id}/cancel"},
		{authorized, "capture", `{"amount":99999}`, 422, "RequestValidationError", "Capture at most the amount left"},
		{authorized, "adjust-authorization", `{"amount":1}`, 400, "IncorrectPaymentAuthorizationType", "ESTIMATED"},
		{"01unknown", "cancel", "", 400, "PaymentError", "GET /payments"},
	} {
		a := r.want(on(c.id, c.operation, c.body), c.status, c.errorID)
		if got := a.text1("error", "recoverySuggestion"); !strings.Contains(got, c.text) {
			t.Errorf("%s suggests %q, not %q", c.operation, got, c.text)
		}
	}
	unknown := r.want(r.do(request{method: "POST", path: "/payments", body: `{"paymentMethodToken":"t","orderId":"o","currencyCode":"EUR","amount":1}`}), 400, "PaymentError")
	if got := unknown.text1("error", "recoverySuggestion"); !strings.Contains(got, "POST /payment-instruments") {
		t.Errorf("an unknown token suggests %q", got)
	}
}

// TestRequestLines checks that a request's log line contains the client's address and, for a 404,
// the path without parts that may be a secret, an id or a card number.
func TestRequestLines(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for path, shown := range map[string]string{
		"/client-sessions":                                 "/client-sessions",
		"/v1/Payments/01kzckyspad8av3fjghkvvb93n4c":        "/v1/Payments/…",
		"/pay/4111-1111-1111-1111/now":                     "/pay/…/now",
		"/pay/" + r.account.APIKey:                         "/pay/…",
		"/pay/" + r.account.SigningSecret:                  "/pay/…",
		"/pay/" + r.session(someSession):                   "/pay/…",
		"/pay/ada@example.com":                             "/pay/…",
		"/a/b/c/d/e/f/g/h/i/j":                             "/a/b/c/d/e/f/g/…",
		"/hT/kQwZxRtYpLmNbVcX/" + strings.Repeat("x", 400): "/hT/…/…",
	} {
		r.want(r.do(request{method: "GET", path: path}), 404, "NotFound")
		line := r.lineOf(t, func(l logLine) bool { return l.Path == shown })
		if line.Status != 404 || line.Client != "127.0.0.1" {
			t.Errorf("%s is logged as %+v", path, line)
		}
	}
	r.want(r.do(request{method: "GET", path: "/payments"}), 200, "")
	if line := r.lineOf(t, func(l logLine) bool { return l.Route == "/payments" && l.Status == 200 }); line.Client != "127.0.0.1" || line.Path != "" {
		t.Errorf("a request is logged as %+v", line)
	}
}

// logLine contains the fields of a request's log line that the tests check.
type logLine struct {
	Level, Message, Route, Path, Client, ErrorID string
	Status                                       int
}

// lineOf returns the newest line of the log that fits.
func (r *rig) lineOf(t *testing.T, fits func(logLine) bool) logLine {
	t.Helper()
	found := logLine{}
	for text := range strings.Lines(r.log.String()) {
		var line logLine
		if err := json.Unmarshal([]byte(text), &line); err == nil && fits(line) {
			found = line
		}
	}
	if found.Message == "" {
		t.Fatalf("no line of the log fits:\n%s", r.log.String())
	}
	return found
}

// TestCallerGone: a caller that hangs up while its request is worked on is no failure of ours: it
// is logged and counted as 499.
func TestCallerGone(t *testing.T) {
	t.Parallel()
	inside, over := make(chan struct{}), make(chan struct{})
	r := newRig(t, func(c *httpapi.Config) {
		c.TestEndpoint = func(ctx context.Context, _ domain.AccountID, _ domain.EndpointID) (deliveries.Attempt, error) {
			close(inside)
			<-ctx.Done()
			defer close(over)
			return deliveries.Attempt{}, ctx.Err()
		}
	})
	made := r.want(r.do(request{method: "POST", path: "/management/webhook-endpoints", body: `{"url":"https://shop.example/","description":"d","eventTypes":["PAYMENT.STATUS"]}`}), 200, "")
	ctx, hangUp := context.WithCancel(t.Context())
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/management/webhook-endpoints/"+made.text1("id")+"/test", nil)
	must(t, err)
	q.Header = http.Header{"X-Api-Key": {r.account.APIKey}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if p, err := r.client.Do(q); err == nil {
			p.Body.Close()
			t.Error("the caller got an answer")
		}
	}()
	<-inside
	hangUp()
	<-over
	<-done
	for late := time.Now().Add(patience); r.api.Answers()[499] == 0 && time.Now().Before(late); {
		_ = r.want(r.do(request{method: "GET", path: "/healthz"}), 200, "")
	}
	line := r.lineOf(t, func(l logLine) bool { return strings.HasSuffix(l.Route, "/test") })
	if line.Status != 499 || line.Level != "info" || line.Message != "caller went away" || line.ErrorID != "" {
		t.Errorf("logged as %+v", line)
	}
	if counted := r.api.Answers(); counted[499] != 1 || counted[500] != 0 {
		t.Errorf("counted as %v", counted)
	}
}
