package httpapi_test

import (
	"net/http"
	"testing"
)

// TestForeignOrigins: pages of any origin can make the calls that need a client token, and no others (D22.6). Every answer of these calls can
// be read by the page, refusals included.
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
