package openapitest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const (
	id      = "3f2b8c1e-7a64-4b0e-9d51-0c8f2a6e4b17"
	session = `{"approvalMode":"AUTO","clientToken":"a.b.c","clientExpirationDate":"2026-03-14T09:26:53.589000Z","clientTokenExpirationDate":"2026-03-14T09:26:53.589000Z"}`
	refusal = `{"error":{"errorId":"NotFound","description":"d","diagnosticsId":"` + id + `"}}`
)

// TestCheck checks which answers the check reports and which it accepts.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, method, path string
		status             int
		header             http.Header
		body               string
		fine               bool
	}{
		{"a session", "POST", "/client-session", 200, nil, session, true},
		{"with a trailing slash", "POST", "/client-session/", 200, nil, session, true},
		{"a field more", "POST", "/client-session", 200, nil, strings.Replace(session, "{", `{"secret":1,`, 1), false},
		{"a field less", "POST", "/client-session", 200, nil, strings.Replace(session, `"clientExpirationDate":"2026-03-14T09:26:53.589000Z",`, "", 1), false},
		{"null for an absent field", "POST", "/client-session", 200, nil, strings.Replace(session, "{", `{"orderId":null,`, 1), false},
		{"a date without microseconds", "POST", "/client-session", 200, nil, strings.ReplaceAll(session, ".589000Z", "Z"), false},
		{"another status", "POST", "/client-session", 201, nil, session, false},
		{"another content type", "POST", "/client-session", 200, http.Header{"Content-Type": {"text/plain"}}, session, false},
		{"no request id", "POST", "/client-session", 200, http.Header{"X-Request-Id": {}}, session, false},
		{"a request id of another form", "POST", "/client-session", 200, http.Header{"X-Request-Id": {"1"}}, session, false},
		{"no JSON", "POST", "/client-session", 200, nil, "<html>", false},
		{"an unknown path", "GET", "/nothing", 404, nil, refusal, true},
		{"an unknown path that answers", "GET", "/nothing", 200, nil, "{}", false},
		{"an unknown path in HTML", "GET", "/nothing", 404, nil, "<html>", false},
		{"an unknown errorId", "GET", "/nothing", 404, nil, strings.Replace(refusal, "NotFound", "Lost", 1), false},
		{"another diagnosticsId", "GET", "/nothing", 404, nil, strings.Replace(refusal, id, "4f2b8c1e-7a64-4b0e-9d51-0c8f2a6e4b17", 1), false},
		{"an errorId of another call", "POST", "/client-session", 400, nil, strings.Replace(refusal, "NotFound", "AmountChanged", 1), false},
		{"an errorId of the call", "POST", "/client-session", 400, nil, strings.Replace(refusal, "NotFound", "ClientSessionValidationError", 1), true},
		{"no Retry-After", "GET", "/readyz", 503, nil, strings.Replace(refusal, "NotFound", "ServiceUnavailable", 1), false},
		{"with Retry-After", "GET", "/readyz", 503, http.Header{"Retry-After": {"2"}}, strings.Replace(refusal, "NotFound", "ServiceUnavailable", 1), true},
	} {
		answer := &http.Response{StatusCode: c.status, Header: http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {id}}, Body: io.NopCloser(strings.NewReader(c.body))}
		for name, values := range c.header {
			answer.Header[name] = values
		}
		err := Check(httptest.NewRequest(c.method, "http://api.example"+c.path, nil), answer)
		if (err == nil) != c.fine {
			t.Errorf("%s: %v", c.name, err)
		}
		if rest, _ := io.ReadAll(answer.Body); string(rest) != c.body {
			t.Errorf("%s: the body is gone", c.name)
		}
	}
}
