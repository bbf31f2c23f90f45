package adapter_test

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

// connect opens a connection to a server that ends with the test.
func connect(t *testing.T, c adapter.Connection, handle http.HandlerFunc) *adapter.Adapter {
	t.Helper()
	server := httptest.NewServer(handle)
	c.URL = strings.Replace(c.URL, "http://server", server.URL, 1)
	c.URL = strings.Replace(c.URL, "@server", "@"+strings.TrimPrefix(server.URL, "http://"), 1)
	a, err := adapter.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); server.Close() })
	return a
}

// TestAuthentication: each call of a connection carries its token, or else the user and the
// password of the address. The path of the address stands before each path.
func TestAuthentication(t *testing.T) {
	for _, c := range []struct {
		of   adapter.Connection
		want string
	}{
		{adapter.Connection{URL: "http://server"}, ""},
		{adapter.Connection{URL: "http://server/base/", Token: "the-token"}, "Bearer the-token"},
		{adapter.Connection{URL: "http://me:p%40ss@server/base"}, "Basic bWU6cEBzcw=="},
	} {
		var seen []string
		a := connect(t, c.of, func(_ http.ResponseWriter, r *http.Request) {
			seen = append(seen, strings.TrimPrefix(r.URL.Path, "/base")+" "+r.Header.Get("Authorization"))
		})
		_, _ = a.Send(t.Context(), op)
		_, _ = a.Lookup(t.Context(), processor.Adyen, "01a.2")
		_, _ = a.ByReference(t.Context(), processor.Adyen, "01a")
		_ = a.Operations(t.Context(), processor.Adyen, time.Time{}, time.Time{}, func(processor.Record) error { return nil })
		if len(seen) != 4 {
			t.Fatalf("%d calls arrived", len(seen))
		}
		for _, call := range seen {
			if !strings.HasPrefix(call, "/v1/processors/ADYEN/operations") || !strings.HasSuffix(call, " "+c.want) {
				t.Errorf("%q, expected %q", call, c.want)
			}
		}
	}
}

// TestUnfit: an answer that came whole and cannot be the answer to its request is given away with
// the reason, and so is a key that was used for another operation. A missing answer, another
// refusal and an answer that fits are not.
func TestUnfit(t *testing.T) {
	var told []string
	status, body := 200, ""
	a := connect(t, adapter.Connection{URL: "http://server", Token: "tok-en", Unfit: func(err error) { told = append(told, err.Error()) }}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	const fits = `{"state":"SUCCEEDED","processorTransactionId":"t","at":"2026-03-01T12:00:00Z"`
	for _, c := range []struct {
		status        int
		send, look    string
		unfit, reason string
	}{
		{200, fits + "}", `{"state":"UNSEEN"}`, "", ""},
		{200, fits + `,"amount":77}`, `{"state":"KNOWN"}`, "both", "another amount"},
		{200, fits + `,"reference":"01other"}`, `{"state":"RUNNING"}`, "send", "another payment"},
		{200, fits + `,"operation":"capture"}`, `{"state":"UNSEEN"}`, "send", "another operation"},
		{422, `{"error":{"code":"key_reused","message":"m"}}`, `{"error":{"code":"invalid_request","message":"m"}}`, "send", "key was used for another operation"},
		{200, `<html>tok-en`, `<html>tok-en`, "both", "cannot be parsed"},
		{200, `{"state":"tok-en","at":"2026-03-01T12:00:00Z"}`, `{"state":"tok-en"}`, "both", "its state is not known"},
		{200, strings.Repeat(" ", protocol.MaxBody+1), `{"state":"UNSEEN"}`, "send", "too large"},
		{200, `{"state":"SUCCEEDED","at":"2026-03-01T12:00:00Z"}`, `{"state":"KNOWN","answer":{"state":"FAILED"}}`, "both", "without a transaction"},
		{503, "<html>", "<html>", "", ""},
		{409, `{"error":{"code":"in_progress","message":"m"}}`, `{"error":{"code":"in_progress","message":"m"}}`, "", ""},
	} {
		told, status, body = nil, c.status, c.send
		_, sent := a.Send(t.Context(), op)
		body = c.look
		_, found := a.Lookup(t.Context(), processor.Adyen, "01a.2")
		want := map[string]int{"both": 2, "send": 1}[c.unfit]
		if len(told) != want || want > 0 && !strings.Contains(told[0], c.reason) || strings.Contains(strings.Join(told, " "), "tok-en") {
			t.Errorf("%.60s, %s: %q, expected %d with %q", c.send, c.look, told, want, c.reason)
		}
		if (sent != nil) != (c.unfit != "" || status != 200) || sent != nil && !errors.Is(sent, processor.ErrUnknown) || found != nil && !errors.Is(found, processor.ErrUnknown) {
			t.Errorf("%.60s, %s: %v, %v", c.send, c.look, sent, found)
		}
	}
}

// TestTimeLimit: a call without an answer ends after the time of its connection, with an unknown
// outcome, and counts as one without an answer. A list by time goes on, and the caller's own end is
// still its own.
func TestTimeLimit(t *testing.T) {
	var ends []error
	release := make(chan struct{})
	a := connect(t, adapter.Connection{URL: "http://server", Timeout: time.Millisecond, Exchanged: func(err error) { ends = append(ends, err) }}, func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("from") {
			_, _ = io.Copy(io.Discard, r.Body)
			select {
			case <-r.Context().Done():
			case <-release:
			}
		}
	})
	defer close(release)
	_, sent := a.Send(t.Context(), op)
	_, found := a.Lookup(t.Context(), processor.Adyen, "01a.2")
	for _, err := range []error{sent, found} {
		if !errors.Is(err, processor.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer within 1ms") {
			t.Errorf("%v", err)
		}
	}
	from := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if err := a.Operations(t.Context(), processor.Adyen, from, from, func(processor.Record) error { return nil }); err != nil {
		t.Error(err)
	}
	if len(ends) != 3 || ends[0] == nil || ends[1] == nil || ends[2] != nil {
		t.Errorf("%v", ends)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := a.Send(gone, op); strings.Contains(err.Error(), "within") || len(ends) != 3 {
		t.Errorf("%v %v", err, ends)
	}
}

// TestNoSecretInErrors: no error has the token, the user, the password or the path of the address,
// even if the processor repeats them, or the header with them.
func TestNoSecretInErrors(t *testing.T) {
	secrets := []string{"tok-en", "user-name", "pass-word", "hidden", base64.StdEncoding.EncodeToString([]byte("user-name:pass-word"))}
	for url, token := range map[string]string{
		"http://server/hidden": "tok-en", "http://user-name:pass-word@server/hidden": "", "http://user-name:pass-word@127.0.0.1:1/hidden": "tok-en",
	} {
		for _, status := range []int{401, 404, 500} {
			a := connect(t, adapter.Connection{URL: url, Token: token}, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, `{"error":{"code":"unauthorized","message":"you sent `+r.Header.Get("Authorization")+`"}}`)
			})
			_, sent := a.Send(t.Context(), op)
			_, found := a.Lookup(t.Context(), processor.Adyen, "01a.2")
			listed := a.Operations(t.Context(), processor.Adyen, time.Time{}, time.Time{}, nil)
			for _, err := range []error{sent, found, listed} {
				if !errors.Is(err, processor.ErrUnknown) || !strings.Contains(err.Error(), "/v1/processors/ADYEN/operations") {
					t.Errorf("%s: %v", url, err)
				}
				for _, secret := range secrets {
					if err != nil && strings.Contains(err.Error(), secret) {
						t.Errorf("%s: the error has %q: %v", url, secret, err)
					}
				}
			}
		}
	}
}

// TestExchanges: each answer is reported as one, with the reason if it is no result. A call that
// the caller gave up is not reported.
func TestExchanges(t *testing.T) {
	const lookup = `{"state":"UNSEEN"}`
	for name, c := range map[string]struct {
		status      int
		body        string
		refused     bool
		misaligned  bool
		notAnswered bool
	}{
		"an answer":        {status: 200, body: lookup},
		"a wrong token":    {status: 401, body: `{"error":{"code":"unauthorized","message":"m"}}`, misaligned: true},
		"a forbidden one":  {status: 403, misaligned: true},
		"an unknown name":  {status: 404, body: `{"error":{"code":"not_found","message":"m"}}`, misaligned: true},
		"an unknown path":  {status: 404, body: "<html>", misaligned: true},
		"another refusal":  {status: 409, body: `{"error":{"code":"in_progress","message":"m"}}`, refused: true},
		"a broken proxy":   {status: 502, body: "<html>", notAnswered: true},
		"a shutdown":       {status: 503, body: `{"error":{"code":"unavailable","message":"m"}}`, notAnswered: true},
		"a page, no error": {status: 400, body: "<html>", notAnswered: true},
	} {
		var reported []error
		a := connect(t, adapter.Connection{URL: "http://server", Exchanged: func(err error) { reported = append(reported, err) }},
			func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
		_, err := a.Lookup(t.Context(), processor.Adyen, "01a.2")
		if len(reported) != 1 || (err == nil) != (c.status == 200) || (reported[0] == nil) != (err == nil) {
			t.Errorf("%s: %v, reported %v", name, err, reported)
			continue
		}
		refused, misaligned := errors.Is(err, adapter.ErrRefused), errors.Is(err, adapter.ErrMisconfigured)
		if refused != c.refused || misaligned != c.misaligned || err != nil && !errors.Is(err, processor.ErrUnknown) ||
			(err != nil && !refused && !misaligned) != c.notAnswered {
			t.Errorf("%s: %v", name, err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := a.Lookup(ended, processor.Adyen, "01a.2"); err == nil || len(reported) != 1 {
			t.Errorf("%s: a call that was given up: %v, reported %v", name, err, reported)
		}
	}
}

// TestPlaces: a connection has at most its number of operations under way. A further one waits, and
// is not sent if its time ends first. Questions have places of their own.
func TestPlaces(t *testing.T) {
	const calls = 3
	arrived, hang := make(chan struct{}, calls+1), make(chan struct{})
	reported := make(chan error, calls+1)
	a := connect(t, adapter.Connection{URL: "http://server", Calls: calls, Exchanged: func(err error) { reported <- err }}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(protocol.HeaderIdempotencyKey) == "" {
			_, _ = io.WriteString(w, `{"state":"UNSEEN"}`)
			return
		}
		arrived <- struct{}{}
		<-hang
	})
	ended := make(chan error, calls)
	for range calls {
		go func() {
			_, err := a.Send(context.Background(), op)
			ended <- err
		}()
	}
	for range calls {
		<-arrived
	}
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := a.Send(soon, op); !errors.Is(err, processor.ErrUnknown) || !strings.Contains(err.Error(), "not sent: all 3 places") {
		t.Errorf("%v", err)
	}
	if found, err := a.Lookup(t.Context(), processor.Adyen, "01a.2"); err != nil || found.State != processor.Unseen {
		t.Errorf("a question: %+v %v", found, err)
	}
	if err := <-reported; err != nil || len(reported) > 0 {
		t.Errorf("reported: %v, and %d more: a call that was not sent says nothing of the processor", err, len(reported))
	}
	close(hang)
	for range calls {
		<-ended
	}
	go func() { _, err := a.Send(context.Background(), op); ended <- err }()
	<-arrived
	<-ended
}

// TestPrivateAuthority: a processor's certificate of a private authority is accepted only with that
// authority.
func TestPrivateAuthority(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"state":"UNSEEN"}`) }))
	server.Config.ErrorLog = nil
	server.StartTLS()
	defer server.Close()
	known := x509.NewCertPool()
	known.AddCert(server.Certificate())
	for name, authorities := range map[string]*x509.CertPool{"the system's": nil, "its own": known, "none": x509.NewCertPool()} {
		a, err := adapter.Open(adapter.Connection{URL: server.URL, CAs: authorities})
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Lookup(t.Context(), processor.Adyen, "01a.2")
		if accepted := err == nil; accepted != (name == "its own") || err != nil && !errors.Is(err, processor.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
		a.Close()
	}
}
