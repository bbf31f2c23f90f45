package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// TestHome: GET / is a page for a browser that leads to the documentation, and to the dashboard if
// there is one. Other clients get the error of an unknown path, as do other methods.
func TestHome(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	browser := http.Header{"Accept": {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}}
	r.client.Transport = http.DefaultTransport // openapi.yaml has no GET /
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	a := r.send("GET", "/", browser, nil)
	if a.status != http.StatusOK || !strings.Contains(a.text, `href="/docs"`) || a.header.Get("Cache-Control") != "no-store" || a.header.Get("Vary") != "Accept, Accept-Encoding" {
		t.Errorf("a browser gets %d %v\n%s", a.status, a.header, a.text)
	}
	if has := strings.Contains(a.text, `href="/dashboard"`); has != (r.config.Users != nil) {
		t.Errorf("the page leads to the dashboard: %v", has)
	}
	s := siteOf(t, r)
	s.client.Transport = http.DefaultTransport
	if a := r.send("GET", "/", browser, nil); !strings.Contains(a.text, `href="/dashboard"`) {
		t.Errorf("the page does not lead to the dashboard: %s", a.text)
	}
	r.want(r.send("GET", "/", http.Header{"Accept": {"*/*"}}, nil), 401, "Unauthorized")
	r.want(r.get("/"), 404, "NotFound")
	r.want(r.send("POST", "/", browser, nil), 401, "Unauthorized")
	if page := r.send("GET", "/docs/", browser, nil); page.status != 200 || !strings.HasPrefix(page.text, "<!doctype html>") {
		t.Errorf("the documentation is %d %.40s", page.status, page.text)
	}
	if page := r.send("GET", "/docs/calls/nothing", browser, nil); page.status != 404 || !strings.Contains(page.text, "This page does not exist") {
		t.Errorf("an unknown page is %d %.40s", page.status, page.text)
	}
}
