package httpapi_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// TestForeignOrigins: pages of any origin can make the calls that need a client token, and no
// others (D22.6). Every answer of these calls can be read by the page, refusals included.
func TestForeignOrigins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	send := func(method, path string, header http.Header) *http.Response {
		t.Helper()
		q, err := http.NewRequestWithContext(t.Context(), method, r.url+path, nil)
		must(t, err)
		q.Header = header
		q.Header.Set("Origin", "https://shop.example")
		a, err := http.DefaultTransport.RoundTrip(q)
		must(t, err)
		must(t, a.Body.Close())
		return a
	}
	for _, c := range []struct {
		method, path string
		allowed      bool
	}{
		{"POST", "/payment-instruments", true}, {"GET", "/checkout/configuration", true}, {"POST", "/payment-attempts", true},
		{"GET", "/payment-attempts/x", true}, {"POST", "/checkout/payments", true}, {"GET", "/checkout/payments/x", true},
		{"POST", "/checkout/payments/x/resume", true}, {"POST", "/required-actions/complete", true},
		{"GET", "/payment-instruments", false}, {"POST", "/payments", false}, {"POST", "/client-session", false},
		{"GET", "/management/settings", false}, {"POST", "/payment-attempts/x/approve", false},
	} {
		asked := http.Header{"Access-Control-Request-Method": {c.method}, "Access-Control-Request-Headers": {"content-type,x-client-token"}}
		preflight, plain := send("OPTIONS", c.path, asked), send(c.method, c.path, http.Header{})
		want := map[bool]string{true: "*"}[c.allowed]
		if preflight.StatusCode != 200 || preflight.Header.Get("Access-Control-Allow-Origin") != want || preflight.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("the preflight of %s %s: %d %v", c.method, c.path, preflight.StatusCode, preflight.Header)
		}
		if c.allowed && (preflight.Header.Get("Access-Control-Allow-Methods") != c.method || preflight.Header.Get("Access-Control-Allow-Headers") != "content-type,x-client-token") {
			t.Errorf("the preflight of %s %s allows %v", c.method, c.path, preflight.Header)
		}
		if plain.StatusCode != 401 || plain.Header.Get("Access-Control-Allow-Origin") != want {
			t.Errorf("%s %s: %d %v", c.method, c.path, plain.StatusCode, plain.Header)
		}
	}
	for coding, status := range map[string]int{"gzip": 415, "br": 415, "identity": 200, "Identity": 200} {
		a := r.do(request{method: "POST", path: "/client-session", body: `{"orderId":"o"}`, header: map[string]string{"Content-Encoding": coding}})
		if a.status != status {
			t.Errorf("Content-Encoding %s: %d", coding, a.status)
		}
	}
}

// TestCheckoutOrigins checks that the setting narrows the browser's calls to pages of the list and
// of the service: other pages do nothing and read nothing. Programs send no origin, and the setting
// does not concern them (D22.6).
func TestCheckoutOrigins(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	client := r.session(someSession)
	read := func(origin string) answer {
		t.Helper()
		return r.inBrowser(client, "GET", "/checkout/configuration", "", "Origin", origin)
	}
	allows := func(a answer, status int, want string) {
		t.Helper()
		if got := a.header.Get("Access-Control-Allow-Origin"); a.status != status || got != want {
			t.Errorf("answered %d, allowing %q, want %d and %q: %s", a.status, got, status, want, a.text)
		}
	}
	allows(read("https://other.example"), 200, "*")
	for sent, want := range map[string]string{
		`[]`: "$.checkoutOrigins must not be empty", `"*"`: "$.checkoutOrigins must be an array", `["https://shop.example/"]`: "$.checkoutOrigins[0] must be an origin as browsers send it: https://shop.example",
	} {
		if got := r.want(r.manage("PATCH", "/settings", `{"checkoutOrigins":`+sent+`}`), 422, "RequestValidationError").faults(); len(got) != 1 || !strings.HasPrefix(got[0], "SettingsRequest "+want) {
			t.Errorf("%s: %q", sent, got)
		}
	}
	const list = `"checkoutOrigins":["https://shop.example","http://localhost:3000"]`
	if set := r.want(r.manage("PATCH", "/settings", `{`+list+`}`), 200, ""); !strings.Contains(set.text, list) {
		t.Errorf("set: %s", set.text)
	}
	for _, origin := range []string{"https://shop.example", "http://localhost:3000"} {
		allows(read(origin), 200, origin)
	}
	for _, origin := range []string{"", r.url, "https://pay.example"} { // no browser, and the pages of the service itself
		allows(read(origin), 200, "")
	}
	behind := func(host, origin string, forwarded ...string) answer { // a proxy that sends another Host
		t.Helper()
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/checkout/configuration", nil)
		must(t, err)
		q.Host, q.Header = host, http.Header{"Origin": {origin}, "X-Client-Token": {client}}
		for i := 0; i < len(forwarded); i += 2 {
			q.Header.Set(forwarded[i], forwarded[i+1])
		}
		p, err := r.client.Do(q)
		must(t, err)
		defer p.Body.Close()
		text, err := io.ReadAll(p.Body)
		must(t, err)
		return answer{status: p.StatusCode, header: p.Header, text: string(text)}
	}
	allows(behind("10.1.2.3:8080", "https://pay.example"), 200, "")         // the public URL
	allows(behind("10.1.2.3:8080", "http://10.1.2.3:8080"), 200, "")        // the connection's own
	allows(behind("10.1.2.3:80", "http://10.1.2.3"), 200, "")               // browsers leave the default port out
	allows(behind("checkout.example", "https://checkout.example"), 401, "") // the proxy ended TLS: only --public-url can tell
	allows(behind("10.1.2.3:8080", "https://checkout.example", "X-Forwarded-Host", "checkout.example", "X-Forwarded-Proto", "https"), 401, "")
	allows(behind("pay.example", "http://pay.example:8080"), 401, "")
	allows(read("http://pay.example"), 401, "") // the public URL's host without TLS
	allows(read(strings.Replace(r.url, "http:", "https:", 1)), 401, "")
	if a := behind("10.1.2.3:8080", "https://checkout.example"); !strings.Contains(a.text, "--public-url") || !strings.Contains(a.text, "https://checkout.example") {
		t.Errorf("the refusal does not say what the operator has to set: %s", a.text)
	}
	if a := behind("checkout.example", "https://checkout.example"); !strings.Contains(a.text, "start the service with --public-url https://checkout.example") {
		t.Errorf("the refusal of the hosted page behind a proxy that keeps the host does not say what to set: %s", a.text)
	}
	for _, origin := range []string{"https://other.example", "null", "http://shop.example", "https://shop.example:8443", "https://shop.example.evil.example", "https://pay.example.evil.example"} {
		a := read(origin)
		allows(a, 401, "")
		if a.errorID() != "Unauthorized" || a.header.Get("Vary") != "Origin" {
			t.Errorf("%s: %s %v", origin, a.text, a.header)
		}
	}
	token, before := r.tokenize(client, goodCard), r.events()
	allows(r.inBrowser(client, "POST", "/checkout/payments", payWith(token), "Origin", "https://other.example"), 401, "")
	if r.events() != before {
		t.Error("a page that may not read the answer has paid")
	}
	allows(r.inBrowser(client, "POST", "/checkout/payments", payWith(token), "Origin", "https://shop.example"), 200, "https://shop.example")
	if page := r.get("/checkout?clientToken=" + client); page.status != 200 {
		t.Errorf("the hosted page: %d", page.status)
	}
	if set := r.want(r.manage("PATCH", "/settings", `{"checkoutOrigins":null}`), 200, ""); strings.Contains(set.text, "checkoutOrigins") {
		t.Errorf("all again: %s", set.text)
	}
	allows(read("https://other.example"), 200, "*")
}
