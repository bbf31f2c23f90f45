package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/eventstore/commands"
	"payledger/eventstore/secrets/apikey"
	"payledger/httpapi"
)

// keyWith makes an API key of the rig's account.
func (r *rig) keyWith(scopes ...string) string {
	r.t.Helper()
	by := commands.Caller{Account: r.account.AccountID, Actor: "test", RequestID: "test"}
	_, text, err := r.service.CreateAPIKey(context.Background(), by, account.APIKey{Name: "test", Scopes: scopes})
	must(r.t, err)
	must(r.t, r.views.CaughtUp(context.Background()))
	return text
}

// TestGuardOrder: authentication → version → scope → path → JSON → body validation → payment known
// or idempotency key (D3). Each request is wrong in everything from its row on.
func TestGuardOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	reader := r.keyWith(account.ScopeTransactionsRetrieve)
	long := strings.Repeat("k", 256)
	for _, c := range []struct {
		name    string
		key     string
		version string
		method  string
		path    string
		body    string
		status  int
		errorID string
	}{
		{"no key", "", "", "POST", "/payments", "{", 401, "Unauthorized"},
		{"no key, unknown path", "", "", "POST", "/nothing", "{", 401, "Unauthorized"},
		{"no key, other method", "", "", "PUT", "/payments", "{", 401, "Unauthorized"},
		{"no version", reader, "", "POST", "/payments", "{", 400, "ApiVersionMissing"},
		{"no version, unknown path", reader, "", "POST", "/nothing", "{", 400, "ApiVersionMissing"},
		{"other version", reader, "2.3", "POST", "/payments", "{", 400, "ApiVersionNotSupported"},
		{"no scope", reader, "2.4", "POST", "/payments", "{", 403, "MissingScope"},
		{"unknown path", reader, "2.4", "POST", "/nothing", "{", 404, "NotFound"},
		{"unknown path below management", reader, "", "GET", "/management/nothing", "", 404, "NotFound"},
		{"unknown path beside management", reader, "", "GET", "/managements", "", 400, "ApiVersionMissing"},
		{"other method", reader, "2.4", "PUT", "/payments", "{", 405, "MethodNotAllowed"},
		{"no JSON", r.account.APIKey, "2.4", "POST", "/payments?x=1", "{", 400, "MalformedJson"},
		{"not valid", r.account.APIKey, "2.4", "POST", "/payments", `{"amount":-1}`, 422, "RequestValidationError"},
		{"bad idempotency key", r.account.APIKey, "2.4", "POST", "/payments", `{"paymentMethodToken":"t"}`, 422, "RequestValidationError"},
	} {
		a := r.do(request{method: c.method, path: c.path, body: c.body, header: map[string]string{
			"X-Api-Key": c.key, "X-Api-Version": c.version, "X-Idempotency-Key": long,
		}})
		if a.status != c.status || a.errorID() != c.errorID {
			t.Errorf("%s: %d %s, want %d %s", c.name, a.status, a.text, c.status, c.errorID)
		}
		if onHeaders := len(a.faults()) > 0 && strings.HasPrefix(a.faults()[0], "Headers "); onHeaders != (c.name == "bad idempotency key") {
			t.Errorf("%s: %q", c.name, a.faults())
		}
	}
}

// TestEarlierGuardsWin checks that the answer to a request with two faults names the fault of the
// earlier guard (D3).
func TestEarlierGuardsWin(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	reader := r.keyWith(account.ScopeTransactionsRetrieve)
	r.want(r.pay(payWith(r.tokenize(r.session(someSession), goodCard)), "X-Idempotency-Key", "used"), 200, "")
	bare := r.tokenize(r.session(`{}`), goodCard)
	header := func(name, value string) func(*request) { return func(q *request) { q.header[name] = value } }
	body := func(text string) func(*request) { return func(q *request) { q.body = text } }
	faults := []struct {
		name  string
		spoil func(*request)
		says  string
	}{
		{"authentication", header("X-Api-Key", ""), `"Unauthorized"`},
		{"version", header("X-Api-Version", "2.3"), `"ApiVersionNotSupported"`},
		{"scope", header("X-Api-Key", reader), `"MissingScope"`},
		{"path", func(q *request) { q.path = strings.Replace(q.path, "/payments", "/nothing", 1) }, `"NotFound"`},
		{"size", body(strings.Repeat("x", 1<<20+1)), `"RequestTooLarge"`},
		{"media type", header("Content-Type", "text/plain"), `"UnsupportedMediaType"`},
		{"JSON", body("{"), `"MalformedJson"`},
		{"validation", func(q *request) { q.path += "?x=1" }, `"QueryString"`},
		{"form of the idempotency key", header("X-Idempotency-Key", "a b"), `"Headers"`},
		{"used idempotency key", header("X-Idempotency-Key", "used"), `"IdempotencyKeyAlreadyExists"`},
		{"unknown token", body(payWith("unknown")), `"PaymentError"`},
		{"missing fields", body(payWith(bare)), `Missing fields for payment.`},
	}
	before := r.events()
	for i, first := range faults {
		for _, second := range faults[i:] {
			q := request{method: "POST", path: "/payments", header: map[string]string{}, body: `{"paymentMethodToken":"` + bare + `","orderId":"o","currencyCode":"EUR","amount":1}`}
			second.spoil(&q)
			first.spoil(&q)
			want := first.says
			if first.name == "scope" && second.name == "path" { // an unknown path has no scope
				want = second.says
			}
			if a := r.do(q); !strings.Contains(a.text, want) {
				t.Errorf("%s and %s: %s", first.name, second.name, a.text)
			}
		}
	}
	if after := r.events(); after != before {
		t.Errorf("refused requests left %d events", after-before)
	}
}

// TestPaths: trailing slashes, unknown paths, other methods (D1).
func TestPaths(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/management/api-keys/", 200, ""},
		{"GET", "/healthz/", 200, ""},
		{"GET", "/management/api-keys//", 404, ""},
		{"GET", "//management/api-keys", 404, ""},
		{"GET", "/Management/api-keys", 404, ""},
		{"GET", "/", 404, ""},
		{"GET", "/payments/a%2Fb", 404, ""},
		{"GET", "/management/../management/api-keys", 404, ""},
		{"DELETE", "/management/api-keys", 405, "GET, HEAD, POST"},
		{"DELETE", "/management/api-keys/", 405, "GET, HEAD, POST"},
		{"PATCH", "/payments/x", 405, "GET, HEAD"},
		{"GET", "/required-actions/complete", 401, ""}, // its other call is the browser's
		{"HEAD", "/healthz", 200, ""},
		{"HEAD", "/readyz", 200, ""},
		{"HEAD", "/payments", 200, ""},
		{"HEAD", "/payments/x", 400, ""},
		{"HEAD", "/dashboard/login", 404, ""},
		{"HEAD", "/client-session/x", 404, ""},
		{"GET", "/readyz?x=1", 200, ""},
		{"GET", "/healthz?x=1", 200, ""},
		{"OPTIONS", "/payments", 200, "GET, HEAD, POST, OPTIONS"},
		{"OPTIONS", "/payment-instruments", 200, "GET, HEAD, POST, OPTIONS"},
		{"OPTIONS", "/required-actions/complete", 200, "POST, OPTIONS"},
		{"OPTIONS", "/elsewhere", 404, ""},
		{"BREW", "/payments", 405, "GET, HEAD, POST"},
	} {
		q, err := http.NewRequest(c.method, r.url+c.path, nil)
		must(t, err)
		q.Header = http.Header{"X-Api-Key": {r.account.APIKey}, "X-Api-Version": {"2.4"}}
		client := r.client
		if c.method == "HEAD" || c.method == "OPTIONS" { // answers to HEAD have no body to check, and openapi.yaml has no OPTIONS
			client = http.DefaultClient
		}
		p, err := client.Do(q)
		must(t, err)
		must(t, p.Body.Close())
		if p.StatusCode != c.status || p.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %d, Allow %q", c.method, c.path, p.StatusCode, p.Header.Get("Allow"))
		}
	}
	http.DefaultClient.CloseIdleConnections()
	nobody := map[string]string{"X-Api-Key": "", "X-Api-Version": ""}
	r.want(r.do(request{method: "POST", path: "/healthz", header: nobody}), 405, "MethodNotAllowed")
	r.want(r.do(request{method: "GET", path: "/payment-instruments", header: nobody}), 401, "Unauthorized")
}

// TestAPIKeys: every key that is not good looks the same (D2).
func TestAPIKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	good := r.account.APIKey
	var random [apikey.RandomSize]byte
	expiring := func() string {
		at := time.Now().Add(time.Hour)
		_, text, err := r.service.CreateAPIKey(t.Context(), commands.Caller{Account: r.account.AccountID}, account.APIKey{Name: "x", Scopes: account.Scopes, ExpiresAt: &at})
		must(t, err)
		must(t, r.views.CaughtUp(t.Context()))
		return text
	}()
	call := func(key string) answer {
		return r.do(request{method: "GET", path: "/management/api-keys", header: map[string]string{"X-Api-Key": key}})
	}
	other := []byte(good)
	other[len(other)-10] ^= 1
	var texts []string
	for name, key := range map[string]string{
		"none": "", "nonsense": "secret", "typo": string(other), "unknown": apikey.New(account.Sandbox, random).Text,
		"other environment": apikey.New(account.Production, random).Text, "cut": good[:len(good)-1], "more": good + "0", "lower case": strings.ToLower(good),
	} {
		a := call(key)
		if a.status != 401 || a.errorID() != "Unauthorized" {
			t.Errorf("%s: %d %s", name, a.status, a.text)
		}
		texts = append(texts, a.text1("error", "description"))
	}
	for _, text := range texts {
		if text != texts[0] {
			t.Errorf("two keys get different answers: %q, %q", text, texts[0])
		}
	}
	r.want(call(expiring), 200, "")
	r.late.Store(3601)
	r.want(call(expiring), 401, "Unauthorized")
	r.want(call(good), 200, "")
}

// TestRateLimit: per API key, off by default (D1).
func TestRateLimit(t *testing.T) {
	t.Parallel()
	frozen := time.Now()
	r := newRig(t)
	second := r.keyWith(account.Scopes...)
	r.serve(func(c *httpapi.Config) {
		c.RateLimit = 2
		c.Now = func() time.Time { return frozen.Add(time.Duration(r.late.Load()) * time.Second) }
	})
	call := func(key string) answer {
		return r.do(request{method: "GET", path: "/management/api-keys", header: map[string]string{"X-Api-Key": key}})
	}
	r.want(call(r.account.APIKey), 200, "")
	r.want(call(r.account.APIKey), 200, "")
	limited := r.want(call(r.account.APIKey), 429, "RateLimitExceeded")
	if wait, err := strconv.Atoi(limited.header.Get("Retry-After")); err != nil || wait != 1 {
		t.Errorf("Retry-After %q", limited.header.Get("Retry-After"))
	}
	r.want(call(second), 200, "")
	r.late.Store(1)
	r.want(call(r.account.APIKey), 200, "")
}

// TestBrowserRateLimit checks that each client token has a separate limit, which includes its
// pages. Pages show the refusal as a page, and a small limit of the API keys leaves enough requests
// for a page (D1, D12).
func TestBrowserRateLimit(t *testing.T) {
	t.Parallel()
	frozen := time.Now()
	r := newRig(t)
	one, two := r.session(someSession), r.session(someSession)
	action := r.want(r.pay(payWith(r.tokenize(one, challengedCard))), 200, "").text1("requiredAction", "clientToken")
	r.serve(func(c *httpapi.Config) {
		c.RateLimit = 2
		c.Now = func() time.Time { return frozen.Add(time.Duration(r.late.Load()) * time.Second) }
	})
	for i := range 10 {
		if i%2 == 0 {
			r.want(r.inBrowser(one, "GET", "/checkout/configuration", ""), 200, "")
		} else if status, _, text := r.page("/checkout?clientToken=" + one); status != 200 {
			t.Fatal(status, text)
		}
		r.want(r.complete(action, "AUTHENTICATED"), 200, "")
	}
	limited := r.want(r.inBrowser(accessToken(t, one), "GET", "/checkout/configuration", ""), 429, "RateLimitExceeded")
	if limited.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", limited.header.Get("Retry-After"))
	}
	r.want(r.complete(action, "AUTHENTICATED"), 429, "RateLimitExceeded")
	for _, path := range []string{"/checkout?clientToken=" + one, "/checkout/challenge?clientToken=" + action} {
		if status, header, text := r.page(path); status != 429 || header.Get("Retry-After") != "1" || !strings.Contains(text, "Wait a moment") {
			t.Errorf("%s: %d %v %s", path, status, header, text)
		}
	}
	r.want(r.inBrowser(two, "GET", "/checkout/configuration", ""), 200, "")
	r.late.Store(1)
	r.want(r.inBrowser(one, "GET", "/checkout/configuration", ""), 200, "")
}

// faultyReader goes wrong in the way its payment id says.
type faultyReader struct{ httpapi.Reader }

const secretText = "number 4111111111111111 at /var/lib"

func (faultyReader) Payment(_ context.Context, _ domain.AccountID, id domain.PaymentID) (payment.State, error) {
	switch id {
	case "panic":
		panic(secretText)
	case "plain":
		return payment.State{}, errors.New(secretText)
	case "store":
		return payment.State{}, domain.Unavailable(errors.New(secretText))
	case "unknown":
		return payment.State{}, domain.OutcomeUnknown(errors.New(secretText))
	default:
		return payment.State{}, &domain.Error{Reason: "Unheard", Message: secretText}
	}
}

// TestFailures checks that the answer to an internal failure contains no internal details (D3).
func TestFailures(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *httpapi.Config) { c.Reader = faultyReader{c.Reader} })
	for id, want := range map[string]struct {
		status  int
		errorID string
	}{
		"panic": {500, "InternalError"}, "plain": {500, "InternalError"}, "other": {500, "InternalError"},
		"store": {503, "ServiceUnavailable"}, "unknown": {503, "ServiceUnavailable"},
	} {
		a := r.do(request{method: "GET", path: "/payments/" + id})
		r.want(a, want.status, want.errorID)
		if strings.Contains(a.text, goodCard) || strings.Contains(a.text, "goroutine") {
			t.Errorf("%s tells too much: %s", id, a.text)
		}
		if waits := a.header.Get("Retry-After") != ""; waits != (want.status == 503) {
			t.Errorf("%s: Retry-After %q", id, a.header.Get("Retry-After"))
		}
		if id == "unknown" && !strings.Contains(a.text1("error", "recoverySuggestion"), "Repeat the request.") { // a read needs no key
			t.Errorf("unknown outcome: %s", a.text)
		}
	}
	if strings.Contains(r.log.String(), goodCard) || strings.Count(r.log.String(), "number ################ at /var/lib") != 5 {
		t.Errorf("a card number in the log, or no cause\n%s", r.log.String())
	}
	if strings.Count(r.log.String(), `"errorId":"InternalError"`) != 3 {
		t.Errorf("log\n%s", r.log.String())
	}
}

// TestLimits: sizes over real HTTP (D1).
func TestLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	header := func(contentType string) http.Header {
		return http.Header{"X-Api-Key": {r.account.APIKey}, "X-Api-Version": {"2.4"}, "Content-Type": {contentType}}
	}
	large := bytes.Repeat([]byte("x"), 1<<20+1)
	r.want(r.send("POST", "/payments", header("application/json"), bytes.NewReader(large)), 413, "RequestTooLarge")
	r.want(r.send("POST", "/payments", header("application/json"), struct{ io.Reader }{bytes.NewReader(large)}), 413, "RequestTooLarge")
	r.want(r.send("POST", "/payments", header("text/plain"), strings.NewReader("{}")), 415, "UnsupportedMediaType")
	r.want(r.send("POST", "/payments", header("application/json"), nil), 400, "MalformedJson")
}
