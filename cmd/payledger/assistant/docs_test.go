package assistant

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"payledger/eventstore/eventstoretest"
	"payledger/httpapi/client"
)

// connect returns a session of the protocol's own client with the server, for an API at an address.
func connect(t *testing.T, url string) *mcp.ClientSession {
	t.Helper()
	requests, theirOut := io.Pipe()
	theirIn, replies := io.Pipe()
	out := &answers{to: replies}
	server, err := newServer(&client.Client{URL: url, APIKey: "key"}, out)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- server.run(context.Background(), newLines(requests, out))
		replies.Close()
	}()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: theirIn, Writer: theirOut}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(session.Close(), <-ended); err != nil {
			t.Error(err)
		}
	})
	return session
}

// said calls a tool.
func said(t *testing.T, session *mcp.ClientSession, tool string, arguments map[string]any) (text string, failed bool) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	return result.Content[0].(*mcp.TextContent).Text, result.IsError
}

// TestDocs: an assistant finds a page by its words and reads it, without a server. Every page in
// the contents has a text.
func TestDocs(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	session := connect(t, "http://shop.example:1")
	all, _ := said(t, session, "search_docs", nil)
	if strings.Count(all, "\n") < 150 {
		t.Errorf("the documentation has %s", all)
	}
	for words, page := range map[string]string{
		"how do I verify a webhook's signature?": "/docs/webhooks ", "PaymentAlreadyRefunded": "/docs/errors#PaymentAlreadyRefunded ",
		"refund a payment": "/docs/calls/refundPayment ", "GET /management/webhook-deliveries/{id}": "/docs/calls/getWebhookDelivery ", "3-D Secure": "/docs/guides/3-d-secure ",
	} {
		if found, failed := said(t, session, "search_docs", map[string]any{"words": words}); failed || !strings.Contains(firstLines(found, 3), page) {
			t.Errorf("%s is in %s", words, found)
		}
	}
	if none, failed := said(t, session, "search_docs", map[string]any{"words": "qqqqq"}); failed || !strings.HasPrefix(none, "No page") {
		t.Error(none)
	}
	for line := range strings.Lines(all) {
		path, _, _ := strings.Cut(line, "  ")
		text, failed := said(t, session, "read_docs", map[string]any{"path": path})
		if failed || len(text) < 40 || strings.Contains(path, "#") && len(text) > 20_000 {
			t.Errorf("%s has %d bytes: %.80s", path, len(text), text)
		}
		resource, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: scheme + path})
		if err != nil || resource.Contents[0].Text != text || resource.Contents[0].MIMEType != markdown {
			t.Errorf("%s as a resource: %v", path, err)
		}
	}
	if text, _ := said(t, session, "read_docs", map[string]any{"path": "/docs/calls/refundPayment"}); !strings.Contains(text, `"http://shop.example:1/payments/`) {
		t.Errorf("the examples are of another server: %s", text)
	}
	for _, path := range []string{"", "/payments", "/docs/../payments", "/docs/calls/nothing", "/docs/errors#nothing", "/docs/payledger.postman_collection.json"} {
		if text, failed := said(t, session, "read_docs", map[string]any{"path": path}); !failed || !strings.Contains(text, "search_docs lists") {
			t.Errorf("%s: %s", path, text)
		}
		if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: scheme + path}); err == nil {
			t.Errorf("%s is a resource", path)
		}
	}
}

// firstLines returns the first n lines of a text.
func firstLines(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[:min(n, len(lines))], "")
}

// TestRedirect: the API key stays with the server that it is for.
func TestRedirect(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s has the key %q", r.URL, r.Header.Get("X-Api-Key"))
	}))
	defer other.Close()
	moved := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer moved.Close()
	if text, failed := said(t, connect(t, moved.URL), "get_settings", nil); !failed || !strings.Contains(text, "HTTP 302") {
		t.Error(text)
	}
}

// TestCancelled: a call that the assistant cancels ends the request to the API, and the next call
// is answered.
func TestCancelled(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/management/settings" {
			close(began)
			<-r.Context().Done()
			close(ended)
			return
		}
		_, _ = w.Write([]byte("{}"))
	}))
	defer api.Close()
	session := connect(t, api.URL)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "get_settings"}); err == nil {
		t.Error("a cancelled call succeeds")
	}
	<-ended
	if text, failed := said(t, session, "get_routing", nil); failed || text != "{}" {
		t.Error(text)
	}
}

// TestPageSize checks that a list without a limit requests a small page, and that the assistant's
// limit is used.
func TestPageSize(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.URL.RawQuery)) }))
	defer api.Close()
	session := connect(t, api.URL)
	for limit, want := range map[any]string{nil: "limit=20", 3: "limit=3", 1000: "limit=1000"} {
		arguments := map[string]any{}
		if limit != nil {
			arguments["limit"] = limit
		}
		if text, _ := said(t, session, "list_events", arguments); text != want {
			t.Errorf("%v: %s", limit, text)
		}
	}
	if text, _ := said(t, session, "get_settings", nil); text != "" {
		t.Error(text)
	}
}
