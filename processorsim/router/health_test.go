package router_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/router"
)

// TestConnectionStates: an answer, also a refusal, shows that a processor answers. A probe without
// an answer, or three calls in a row, show that it does not, since the first of them. A refused
// token and another declaration are a misconfiguration.
func TestConnectionStates(t *testing.T) {
	clock := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var reply atomic.Pointer[func(http.ResponseWriter)]
	answer := func(status int, body string) {
		f := func(w http.ResponseWriter) { w.WriteHeader(status); _, _ = io.WriteString(w, body) }
		reply.Store(&f)
	}
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { (*reply.Load())(w) })
	r, err := router.Open(router.Config{Connections: map[processor.Name]router.Connection{processor.Adyen: to(url, "", "")}, Now: func() time.Time { return clock }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	probe := func() { r.Probe(t.Context(), processor.Adyen) }
	call := func() { _, _ = r.Lookup(t.Context(), processor.Adyen, "01a.2") }
	const declaration = `{"protocol":1,"processor":"ADYEN"}`
	began := clock
	for _, step := range []struct {
		what   string
		status int
		body   string
		do     func()
		want   processor.ConnectionState
		since  time.Duration // after began; 0: none
		reason string
	}{
		{"nothing yet", 200, "", func() {}, processor.NotAsked, 0, ""},
		{"a probe", 200, declaration, probe, processor.Answering, 0, ""},
		{"one call without an answer", 502, "", call, processor.Answering, 0, ""},
		{"another one", 502, "", call, processor.Answering, 0, ""},
		{"a third one", 502, "", call, processor.NotAnswering, 2 * time.Second, "502 without a reason"},
		{"a refusal", 409, `{"error":{"code":"in_progress","message":"m"}}`, call, processor.Answering, 0, ""},
		{"a probe without an answer", 503, "", probe, processor.NotAnswering, 6 * time.Second, "503 without a reason"},
		{"one more", 503, "", probe, processor.NotAnswering, 6 * time.Second, "503"},
		{"a call with an answer", 200, `{"state":"UNSEEN"}`, call, processor.Answering, 0, ""},
		{"a refused token", 401, `{"error":{"code":"unauthorized","message":"m"}}`, call, processor.Misconfigured, 9 * time.Second, "401 unauthorized: m"},
		{"the token is right", 200, declaration, probe, processor.Answering, 0, ""},
		{"another processor", 200, `{"protocol":1,"processor":"STRIPE"}`, probe, processor.Misconfigured, 11 * time.Second, `protocol 1 of processor "STRIPE"`},
		{"it answers calls", 200, `{"state":"UNSEEN"}`, call, processor.Misconfigured, 11 * time.Second, "STRIPE"},
		{"an older protocol", 200, `{"protocol":0,"processor":"ADYEN"}`, probe, processor.Misconfigured, 11 * time.Second, "protocol 0"},
		{"it is away", 503, "", probe, processor.NotAnswering, 14 * time.Second, "503"},
		{"it is right", 200, declaration, probe, processor.Answering, 0, ""},
		{"no declaration", 404, "<html>", probe, processor.Misconfigured, 16 * time.Second, "404"},
	} {
		answer(step.status, step.body)
		step.do()
		got := r.Connection(processor.Adyen)
		since := time.Time{}
		if step.since > 0 {
			since = began.Add(step.since)
		}
		if got.State != step.want || !got.Since.Equal(since) || !strings.Contains(got.Reason, step.reason) || (step.reason == "") != (got.Reason == "") {
			t.Errorf("%s: %+v, expected %s since %s, %q", step.what, got, step.want, since, step.reason)
		}
		clock = clock.Add(time.Second)
	}
	if got := r.Connection(processor.Stripe); got.State != processor.NoAddress {
		t.Errorf("without an address: %+v", got)
	}
}

// TestSimulated: a processor is simulated if its newest declaration says so; until then, if its
// connection says so.
func TestSimulated(t *testing.T) {
	var body atomic.Pointer[string]
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if *body.Load() == "" {
			w.WriteHeader(http.StatusBadGateway)
		}
		_, _ = io.WriteString(w, *body.Load())
	})
	known := to(url, "", "")
	known.Simulated = true
	r := open(t, map[processor.Name]router.Connection{processor.Adyen: to(url, "", ""), processor.Stripe: known})
	for _, step := range []struct {
		name processor.Name
		body string
		want bool
	}{
		{processor.Adyen, `{"protocol":1,"processor":"ADYEN"}`, false},
		{processor.Adyen, `{"protocol":1,"processor":"ADYEN","simulated":true}`, true},
		{processor.Adyen, "", true}, // it does not answer
		{processor.Adyen, `{"protocol":1,"processor":"STRIPE","simulated":true}`, false},
		{processor.Stripe, "", true},
		{processor.Stripe, `{"protocol":1,"processor":"STRIPE"}`, false},
	} {
		body.Store(&step.body)
		r.Probe(t.Context(), step.name)
		if got := r.Connection(step.name).Simulated; got != step.want {
			t.Errorf("%s after %s: %v", step.name, step.body, got)
		}
	}
}

// TestUnfitAnswers: an unfit answer counts for ten minutes and changes no
// state. The total stays, and memory does not grow.
func TestUnfitAnswers(t *testing.T) {
	clock := time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC)
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	r, err := router.Open(router.Config{Connections: map[processor.Name]router.Connection{processor.Adyen: to(url, "", "")}, Now: func() time.Time { return clock }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	expect := func(recent int, total uint64, reason string) {
		t.Helper()
		got := r.Connection(processor.Adyen)
		if got.Unfit.Recent != recent || got.Unfit.Total != total || got.Unfit.Reason != reason || got.State != processor.Answering || got.Bad() {
			t.Errorf("%s: %+v", clock, got)
		}
	}
	_, _ = r.Lookup(t.Context(), processor.Adyen, "01a.2")
	expect(1, 1, "1 unfit answer in the last 10 minutes, the newest at 2026-03-01T12:00:30Z: outcome at the processor unknown: "+
		"the answer does not fit the request: look-up at ADYEN: its state is not known, or contradicts its answer")
	clock = clock.Add(5 * time.Minute)
	r.Unfit(processor.Adyen, "operation 01a.3: it is about another amount")
	r.Unfit(processor.Adyen, "operation 01a.3: it is about another amount")
	r.Unfit(processor.Stripe, "it has no address")
	expect(3, 3, "3 unfit answers in the last 10 minutes, the newest at 2026-03-01T12:05:30Z: operation 01a.3: it is about another amount")
	clock = clock.Add(5 * time.Minute)
	expect(2, 3, "2 unfit answers in the last 10 minutes, the newest at 2026-03-01T12:05:30Z: operation 01a.3: it is about another amount")
	clock = clock.Add(5 * time.Minute)
	expect(0, 3, "")
	r.Unfit(processor.Adyen, strings.Repeat("é", 200)+"x") // a reason is cut between characters
	expect(1, 4, "1 unfit answer in the last 10 minutes, the newest at 2026-03-01T12:15:30Z: "+strings.Repeat("é", 150))
	r.Unfit(processor.Adyen, "x"+strings.Repeat("é", 200))
	expect(2, 5, "2 unfit answers in the last 10 minutes, the newest at 2026-03-01T12:15:30Z: x"+strings.Repeat("é", 149))
	if got := r.Connection(processor.Stripe); got.Unfit != (processor.UnfitAnswers{}) {
		t.Errorf("%+v", got)
	}
}

// TestProbesApart: a processor that hangs holds up no probe of another one.
func TestProbesApart(t *testing.T) {
	hangs := make(chan struct{})
	hanging := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-hangs })
	good := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"protocol":1,"processor":"STRIPE"}`)
	})
	r := open(t, map[processor.Name]router.Connection{
		processor.Adyen: to(hanging, "", ""), processor.Stripe: {Connection: adapter.Connection{URL: good}},
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { r.Run(ctx, time.Millisecond); close(ended) }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for r.Connection(processor.Stripe).State != processor.Answering {
		<-tick.C
	}
	if got := r.Connection(processor.Adyen); got.State != processor.NotAsked {
		t.Errorf("%+v", got)
	}
	cancel()
	<-ended
	close(hangs)
}
