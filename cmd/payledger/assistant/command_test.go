package assistant

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"payledger/cmd/payledger/developer"
	"payledger/cmd/payledger/terminal"
	"payledger/httpapi/client"
)

// TestReadOnly: nothing but GET without a body leaves the command.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	sent := 0
	transport := readOnly{roundTrip(func(*http.Request) (*http.Response, error) {
		sent++
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Header: http.Header{}}, nil
	})}
	api := &client.Client{URL: "http://127.0.0.1", APIKey: "key", HTTP: &http.Client{Transport: transport}}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "get"} {
		if _, err := api.Do(t.Context(), client.Request{Method: method, Path: "/payments"}); err == nil || !strings.Contains(err.Error(), "only reads") {
			t.Errorf("%s: %v", method, err)
		}
	}
	if _, err := api.Do(t.Context(), client.Request{Method: "GET", Path: "/payments", Body: map[string]any{}}); err == nil {
		t.Error("a body is sent")
	}
	answer, err := api.Do(t.Context(), client.Request{Method: "GET", Path: "/payments", Query: url.Values{"limit": {"1"}}})
	if err != nil || sent != 1 {
		t.Fatalf("%v, %d sent", err, sent)
	}
	answer.Body.Close()
}

// TestCheck: a key that the server does not know, and another program at the address, end the
// start. A server that starts, or has too much to do, does not.
func TestCheck(t *testing.T) {
	t.Parallel()
	for answer, fails := range map[string]string{
		`200 {"data":[]}`: "", `403 {"error":{"errorId":"MissingScope"}}`: "", `503 {"error":{"errorId":"ServiceUnavailable"}}`: "", `502 <html>`: "",
		`429 {"error":{"errorId":"RateLimitExceeded"}}`: "", `401 {"error":{"errorId":"Unauthorized"}}`: "Unauthorized", `404 <html>`: "HTTP 404", `302 `: "HTTP 302",
	} {
		status, body, _ := strings.Cut(answer, " ")
		code, err := strconv.Atoi(status)
		if err != nil {
			t.Fatal(err)
		}
		transport := roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{"Location": {"/"}}}, nil
		})
		err = check(t.Context(), &client.Client{URL: "http://127.0.0.1", APIKey: "key", HTTP: &http.Client{Transport: transport}}, io.Discard)
		if (err == nil) != (fails == "") || err != nil && !strings.Contains(err.Error(), fails) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// TestPasswordOfTheURL: neither messages nor documents have the user and the password of the URL.
func TestPasswordOfTheURL(t *testing.T) {
	t.Parallel()
	status := http.StatusServiceUnavailable
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	address := strings.Replace(server.URL, "http://", "http://ada:pass1234@", 1)
	var said strings.Builder
	c := &Command{Server: developer.Server{URL: address, APIKey: "plk_sandbox_key"}, In: io.NopCloser(strings.NewReader(""))}
	if err := c.Run(t.Context(), terminal.Streams{Out: io.Discard, Err: &said}, nil); err != nil || strings.Count(said.String(), server.URL) != 2 {
		t.Errorf("%v: %s", err, said.String())
	}
	status = http.StatusUnauthorized
	err := c.Run(t.Context(), terminal.Streams{Out: io.Discard, Err: &said}, nil)
	if err == nil || !strings.Contains(err.Error(), server.URL) {
		t.Error(err)
	}
	made, failed := newServer(&client.Client{URL: address, APIKey: "plk_sandbox_key"}, io.Discard)
	if failed != nil {
		t.Fatal(failed)
	}
	page, failed := made.read(scheme + "/docs/guides/first-payment")
	if failed != nil || !strings.Contains(page, server.URL) {
		t.Errorf("%v: %s", failed, page)
	}
	for _, text := range []string{said.String(), fmt.Sprint(err), page} {
		if strings.Contains(text, "ada") || strings.Contains(text, "pass1234") {
			t.Errorf("it says %s", text)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestSegment: no value of a path parameter leads to another path.
func TestSegment(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"01abc": "01abc", "": "%2E", ".": "%2E", "..": "%2E%2E", "a/b": "a%2Fb", "a?b#c": "a%3Fb%23c"} {
		if got := segment(value); got != want {
			t.Errorf("%q is %q, expected %q", value, got, want)
		}
	}
}

// TestPageText: a page becomes headings, paragraphs, lists, rows and code; controls and hidden
// parts do not. An anchor is its section.
func TestPageText(t *testing.T) {
	t.Parallel()
	text := `<html><body><nav>Contents</nav><main><section hidden>key</section><h1>Refund <em>a</em> payment</h1><p>Scope <code>a:b</code>.
	See <a href="/x">more</a>.</p><ul><li>one</li><li>two</li></ul><table><tr><th>Field</th><th>Meaning</th></tr><tr><td>amount</td><td>minor units</td></tr></table>
	<pre>curl \
  -X POST</pre><button>Copy</button><section><h2 id="x"><a>X</a></h2><p>of it</p></section></main></body></html>`
	want := "# Refund a payment\n\nScope `a:b`. See more.\n\n- one\n- two\n\nField | Meaning | \namount | minor units | \n\n```\ncurl \\\n  -X POST\n```\n\n## X\n\nof it"
	one, err := newPage([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := one.text(""); err != nil || got != want {
		t.Errorf("%v\n%q\n%q", err, got, want)
	}
	if got, err := one.text("x"); err != nil || got != "## X\n\nof it" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := one.text("y"); err == nil {
		t.Error("an unknown anchor has a text")
	}
	if _, err := newPage([]byte("<p>nothing")); err == nil {
		t.Error("a page without content is one")
	}
}
