package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"payledger/httpapi/client"
)

// script is a server that returns its answers in order. An answer of status 0 closes the
// connection.
type script struct {
	t       *testing.T
	answers []string // status, a space, the body
	seen    []*http.Request
	next    atomic.Int64
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := int(s.next.Add(1)) - 1
	s.seen = append(s.seen, r)
	if n >= len(s.answers) {
		s.t.Errorf("request %d was not expected: %s %s", n+1, r.Method, r.URL)
		return
	}
	var status int
	_, _ = fmt.Sscan(s.answers[n], &status)
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "2")
	}
	w.WriteHeader(status)
	_, body, _ := strings.Cut(s.answers[n], " ")
	_, _ = w.Write([]byte(body))
}

// at returns a client of the script. waited has the pauses before repeats.
func at(t *testing.T, answers ...string) (c *client.Client, s *script, waited *[]time.Duration) {
	t.Helper()
	s, waited = &script{t: t, answers: answers}, &[]time.Duration{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return &client.Client{
		URL: server.URL, APIKey: "plk_sandbox_x", HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		Sleep: func(_ context.Context, d time.Duration) error { *waited = append(*waited, d); return nil },
	}, s, waited
}

const (
	unavailable = `503 {"error":{"errorId":"ServiceUnavailable","description":"It is starting.","diagnosticsId":"r-1"}}`
	limited     = `429 {"error":{"errorId":"RateLimitExceeded","description":"Too many.","diagnosticsId":"r-2"}}`
	known       = `409 {"error":{"errorId":"IdempotencyKeyAlreadyExists","description":"It was used.","paymentId":"01p","paymentStatus":"AUTHORIZED"}}`
	paid        = `200 {"id":"01p","status":"AUTHORIZED","amount":2500}`
)

// TestRepeats: a request is repeated only where that is safe. A lost answer to a keyed request
// becomes its payment.
func TestRepeats(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request client.Request
		answers []string
		fails   string // errorId; "" is success
	}{
		"a read over a connection that is cut":         {client.Request{Method: "GET", Path: "/payments/01p"}, []string{"0", unavailable, paid}, ""},
		"a read that goes on failing":                  {client.Request{Method: "GET", Path: "/payments/01p"}, []string{unavailable, unavailable, unavailable, unavailable}, "ServiceUnavailable"},
		"a keyed payment whose answer was lost":        {client.Request{Method: "POST", Path: "/payments", IdempotencyKey: "k"}, []string{"0", known, paid}, ""},
		"a keyed payment that was made long ago":       {client.Request{Method: "POST", Path: "/payments", IdempotencyKey: "k"}, []string{known}, "IdempotencyKeyAlreadyExists"},
		"a payment without a key whose answer is lost": {client.Request{Method: "POST", Path: "/payments"}, []string{"0"}, "no answer"},
		"a payment without a key that may have run":    {client.Request{Method: "POST", Path: "/payments"}, []string{unavailable}, "ServiceUnavailable"},
		"a payment above the rate":                     {client.Request{Method: "POST", Path: "/payments"}, []string{limited, paid}, ""},
		"a refusal":                                    {client.Request{Method: "GET", Path: "/payments/01p"}, []string{`404 {"error":{"errorId":"EntityNotFound","description":"There is none."}}`}, "EntityNotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, s, waited := at(t, c.answers...)
			var p client.Payment
			err := api.Call(t.Context(), c.request, &p)
			var apiErr *client.Error
			switch {
			case c.fails == "" && (err != nil || p.Status != "AUTHORIZED"):
				t.Errorf("%+v %v", p, err)
			case c.fails == "no answer" && (err == nil || errors.As(err, &apiErr)):
				t.Errorf("%v", err)
			case c.fails != "" && c.fails != "no answer" && (!errors.As(err, &apiErr) || apiErr.ErrorID != c.fails):
				t.Errorf("%v", err)
			case int(s.next.Load()) != len(c.answers):
				t.Errorf("%d requests", s.next.Load())
			}
			if name == "a payment above the rate" && (len(*waited) != 1 || (*waited)[0] != 2*time.Second) {
				t.Errorf("waited %v, not Retry-After", *waited)
			}
		})
	}
}

// TestCredentials: the merchant's calls have the key and the version, the browser's calls the
// client token and no key.
func TestCredentials(t *testing.T) {
	t.Parallel()
	api, s, _ := at(t, "200 {}", "200 {}")
	if err := errors.Join(api.Post(t.Context(), "/client-session", map[string]any{"orderId": "1"}, nil), api.Browser(t.Context(), "token", "/payment-instruments", map[string]any{}, nil)); err != nil {
		t.Fatal(err)
	}
	shop, browser := s.seen[0].Header, s.seen[1].Header
	if shop.Get("X-Api-Key") != "plk_sandbox_x" || shop.Get("X-Api-Version") != "2.4" || shop.Get("X-Client-Token") != "" || shop.Get("Content-Type") != "application/json" {
		t.Errorf("the merchant's headers: %v", shop)
	}
	if browser.Get("X-Api-Key") != "" || browser.Get("X-Client-Token") != "token" {
		t.Errorf("the browser's headers: %v", browser)
	}
}

// TestErrors: an error has every word of the API; a payment that goes on by itself is one, and so
// is the answer of another program.
func TestErrors(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`422 {"error":{"errorId":"RequestValidationError","description":"The request is not valid.","diagnosticsId":"r-3","recoverySuggestion":"See validationErrors.","validationErrors":[{"model":"PaymentCreation","errors":[{"path":"$.amount","description":"must be at least 0"},{"path":"$.colour","description":"is not known"}]}]}}`: "RequestValidationError: The request is not valid. PaymentCreation $.amount must be at least 0. PaymentCreation $.colour is not known.",
		`400 {"error":{"errorId":"PaymentError","description":"There is no payment.","recoverySuggestion":"Check the id."}}`: "PaymentError: There is no payment. Check the id.",
		`202 {"error":{"errorId":"NoActionsToHandle","description":"It goes on by itself."}}`:                                "NoActionsToHandle: It goes on by itself.",
		`404 <html>`: "HTTP 404: the answer is not one of the API; is the URL right?",
		`200 <html>`: "the server's answer is no JSON that the client knows: ",
	} {
		api, _, _ := at(t, body)
		err := api.Post(t.Context(), "/payments", nil, &client.Payment{})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
	api, _, _ := at(t, unavailable)
	var apiErr *client.Error
	if err := api.Post(t.Context(), "/payments", nil, nil); !errors.As(err, &apiErr) || apiErr.DiagnosticsID != "r-1" || apiErr.Status != http.StatusServiceUnavailable {
		t.Errorf("%+v", apiErr)
	}
}

// TestList: a list is read over its pages until the caller has enough.
func TestList(t *testing.T) {
	t.Parallel()
	api, s, _ := at(t, `200 {"data":[1,2],"nextCursor":"c"}`, `200 {"data":[3]}`)
	var all []int
	if err := client.List(t.Context(), api, "/payments", nil, func(n int) bool { all = append(all, n); return true }); err != nil || fmt.Sprint(all) != "[1 2 3]" {
		t.Errorf("%v %v", all, err)
	}
	if got := s.seen[1].URL.Query(); got.Get("cursor") != "c" || got.Get("limit") != "100" {
		t.Errorf("the second page: %v", got)
	}
}

// TestStream: messages come whole, comments do not count, and the end of the connection is an error
// that says so.
func TestStream(t *testing.T) {
	t.Parallel()
	api, _, _ := at(t, "200 retry: 1000\n\n: 0\n\nid: 1\nevent: a\ndata: {\"n\":1}\n\nid: 2\n\nevent: b\ndata: {}\n\nid: 3\nevent: c\ndata: {\"cut\"")
	var got []string
	opened := 0
	err := api.Stream(t.Context(), client.Request{Path: "/stream"}, func() { opened++ }, func(e client.ServerEvent) error {
		got = append(got, e.ID+e.Type+string(e.Data))
		return nil
	})
	if !errors.Is(err, client.ErrBroken) || opened != 1 || fmt.Sprint(got) != `[1a{"n":1} 2b{}]` {
		t.Errorf("%v %v, opened %d times", got, err, opened)
	}
	for answer, broken := range map[string]bool{unavailable: true, limited: true, "0": true, `401 {"error":{"errorId":"Unauthorized"}}`: false} {
		api, _, _ := at(t, answer)
		err := api.Stream(t.Context(), client.Request{Path: "/stream"}, func() { t.Error("opened") }, nil)
		if err == nil || errors.Is(err, client.ErrBroken) != broken {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// TestRedirect: a redirect is an error; its target does not get the API key.
func TestRedirect(t *testing.T) {
	t.Parallel()
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was sent", r.URL) }))
	defer target.Close()
	moved := httptest.NewServer(http.RedirectHandler(target.URL, http.StatusTemporaryRedirect))
	defer moved.Close()
	for _, caller := range []*http.Client{nil, {Timeout: time.Minute}} {
		var refused *client.Error
		err := (&client.Client{URL: moved.URL, APIKey: "key", HTTP: caller}).Get(t.Context(), "/payments", nil, nil)
		if !errors.As(err, &refused) || refused.Status != http.StatusTemporaryRedirect {
			t.Error(err)
		}
	}
}
