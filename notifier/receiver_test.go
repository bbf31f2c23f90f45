package notifier

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/notifier/delivery"
	"payledger/notifier/guard"
	"payledger/notifier/sender"
)

func hijack(t *testing.T, w http.ResponseWriter, say string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	fmt.Fprint(conn, say)
	conn.Close()
}

// TestReceivers lists what receivers do with the first attempt, and the recorded outcome of each
// (§6.1, D18).
func TestReceivers(t *testing.T) {
	t.Parallel()
	elsewhere := newReceiver(t, nil)
	until := func(r *http.Request) { <-r.Context().Done() }
	inbox := newReceiver(t, map[string]http.HandlerFunc{
		"/200": func(http.ResponseWriter, *http.Request) {},
		"/204": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
		"/299": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(299) },
		"/301": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.url, 301) },
		"/307": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.url, 307) },
		"/410": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) },
		"/500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"/hangs-in-body": func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			until(r)
		},
		"/huge":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 8<<20)) },
		"/close": func(w http.ResponseWriter, _ *http.Request) { hijack(t, w, "") },
		"/noise": func(w http.ResponseWriter, _ *http.Request) { hijack(t, w, "I am no HTTP server\r\n\r\n") },
		"/cut": func(w http.ResponseWriter, _ *http.Request) {
			hijack(t, w, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
		},
		"/long": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 2*sender.HeaderLimit))
		},
	})
	selfSigned := httptest.NewUnstartedServer(http.NotFoundHandler())
	selfSigned.Config.ErrorLog = log.New(io.Discard, "", 0)
	selfSigned.StartTLS()
	defer selfSigned.Close()
	r := newRig(t)
	r.config.Resolver = rebind([]string{}).resolver() // it knows no name; the machine's may not answer
	r.start()
	cases := map[string]struct {
		url     string
		status  int
		failure delivery.Failure
	}{
		"200": {inbox.url + "/200", 200, ""}, "204": {inbox.url + "/204", 204, ""}, "299": {inbox.url + "/299", 299, ""},
		"301": {inbox.url + "/301", 301, delivery.FailureStatus}, "307": {inbox.url + "/307", 307, delivery.FailureStatus},
		"410": {inbox.url + "/410", 410, delivery.FailureStatus}, "500": {inbox.url + "/500", 500, delivery.FailureStatus},
		"hangs in the body": {inbox.url + "/hangs-in-body", 200, ""},
		"huge body":         {inbox.url + "/huge", 200, ""}, "body cut": {inbox.url + "/cut", 200, ""},
		"closes": {inbox.url + "/close", 0, delivery.FailureConnection}, "is not HTTP": {inbox.url + "/noise", 0, delivery.FailureProtocol},
		"long header":    {inbox.url + "/long", 200, ""},
		"not listening":  {"http://127.0.0.1:1/", 0, delivery.FailureRefused},
		"bad TLS":        {selfSigned.URL, 0, delivery.FailureTLS},
		"private":        {"http://10.0.0.1/", 0, delivery.FailureAddress},
		"unresolvable":   {"http://no-such-host.invalid/", 0, delivery.FailureDNS},
		"loopback by v6": {"http://[::1]:9/", 0, delivery.FailureAddress},
	}
	names := map[string]string{}
	for name, c := range cases {
		names[string(r.endpoint(c.url))] = name
	}
	s := r.pay(processor.Succeeded)
	recorded := map[string]delivery.Delivery{}
	poll(t, func() bool {
		for _, d := range r.records() {
			if d.Status != delivery.Planned {
				recorded[names[string(d.Endpoint)]] = d
			}
		}
		return len(recorded) == len(cases)
	}, func() string { return fmt.Sprintf("%d outcomes of %d", len(recorded), len(cases)) })
	for name, c := range cases {
		d := recorded[name]
		want := delivery.Failed
		if c.failure == "" {
			want = delivery.Succeeded
		}
		a := d.Attempts[0]
		if d.Status != want || a.StatusCode != c.status || a.Failure != c.failure || d.AggregateID != string(s.ID) {
			t.Errorf("%s: %s %+v", name, d.Status, a)
		}
	}
	elsewhere.none()
	if err := r.notifier.Healthy(); err != nil {
		t.Errorf("a failing receiver is no trouble of ours: %v", err)
	}
}

// TestTimeout: a receiver that says nothing in time has failed; one attempt is made.
func TestTimeout(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, map[string]http.HandlerFunc{"/": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }})
	for timeout := time.Second; len(inbox.got) == 0; timeout *= 2 { // on a busy machine the request does not come in a second
		s := sender.New(sender.Config{Guard: guard.Guard{AllowCIDRs: loopback}, Timeout: timeout, Now: time.Now})
		a, err := s.Attempt(context.Background(), sender.Message{URL: inbox.url + "/", Keys: []sender.Key{{Name: secretName, Text: secretText}}, Body: emptyPayload})
		s.Close()
		if err != nil || a.Failure != delivery.FailureTimeout || a.StatusCode != 0 || a.Duration < timeout.Microseconds() {
			t.Fatalf("%+v %v", a, err)
		}
	}
	inbox.waitFor(1)
	inbox.none()
}

// TestConnectGuard checks that a connection to a name with a loopback address is refused, and that
// the proxy of the environment is not used (D18).
func TestConnectGuard(t *testing.T) {
	proxy := newReceiver(t, nil)
	t.Setenv("HTTP_PROXY", proxy.url)
	t.Setenv("http_proxy", proxy.url)
	inbox := newReceiver(t, nil)
	u, err := url.Parse(inbox.url)
	if err != nil {
		t.Fatal(err)
	}
	message := sender.Message{URL: "http://localhost:" + u.Port() + "/", Keys: []sender.Key{{Name: secretName, Text: secretText}}, Body: emptyPayload}
	for name, c := range map[string]struct {
		guard guard.Guard
		url   string
		want  delivery.Failure
	}{
		"name of a loopback address": {guard.Guard{}, message.URL, delivery.FailureAddress},
		"its network is allowed":     {guard.Guard{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}, message.URL, ""},
		"http in production":         {guard.Guard{AllowCIDRs: loopback, Production: true}, inbox.url, delivery.FailureAddress},
	} {
		s := sender.New(sender.Config{Guard: c.guard, Timeout: patience, Now: time.Now})
		message.URL = c.url
		a, err := s.Attempt(context.Background(), message)
		s.Close()
		if err != nil || a.Failure != c.want {
			t.Errorf("%s: %+v %v", name, a, err)
		}
		if c.want == "" {
			inbox.waitFor(1)
		}
		inbox.none()
	}
	proxy.none()
}

// TestControl checks the addresses that the dialer passes to the guard.
func TestControl(t *testing.T) {
	t.Parallel()
	g := guard.Guard{}
	for address, ok := range map[string]bool{
		"93.184.216.34:443": true, "[2606:2800:220:1::1]:443": true, "127.0.0.1:443": false,
		"[fe80::1%eth0]:443": false, "nonsense": false,
	} {
		if err := g.Control("tcp4", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
	if g.Control("udp4", "93.184.216.34:443", nil) == nil {
		t.Error("udp is not refused")
	}
	var _ = net.Dialer{Control: g.Control}
}
