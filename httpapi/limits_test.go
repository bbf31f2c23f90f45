package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"payledger/httpapi"
	feeds "payledger/httpapi/events"
	"payledger/httpapi/intake"
	"payledger/projections/eventjson"
)

// limited returns a rig and the tally that counts its refusals.
func limited(t *testing.T) (*rig, *intake.Tally) {
	tally := &intake.Tally{}
	return newRig(t, func(c *httpapi.Config) { c.Intake.Tally = tally }), tally
}

// TestHeaderLimit checks that headers are limited to 32 KiB before the authentication. Probes are
// exempt, and smaller requests get their usual errors (D1).
func TestHeaderLimit(t *testing.T) {
	t.Parallel()
	r, tally := limited(t)
	ask := func(path string, size int) answer {
		return r.do(request{method: "GET", path: path, header: map[string]string{"X-Filler": strings.Repeat("x", size), "X-Api-Key": ""}})
	}
	r.want(ask("/payments", 31<<10), 401, "Unauthorized")
	r.want(ask("/payments", 33<<10), 431, "RequestHeadersTooLarge")
	r.want(ask("/readyz", 33<<10), 200, "")
	if n := tally.Of(intake.Headers); n != 1 {
		t.Errorf("%d were counted", n)
	}
}

// TestNotificationLimit checks that a notification is limited to 64 KiB, with and without a
// declared length. It is refused before its signature is checked (D14).
func TestNotificationLimit(t *testing.T) {
	t.Parallel()
	r, tally := limited(t)
	send := func(size int, known bool) int {
		t.Helper()
		body := io.Reader(strings.NewReader(strings.Repeat(" ", size)))
		if !known {
			body = io.MultiReader(body) // sent in pieces
		}
		sent, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/processors/ADYEN/notifications", body)
		if err != nil {
			t.Fatal(err)
		}
		sent.Header.Set("Content-Type", "application/json")
		a, err := r.client.Do(sent)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		if _, err := io.Copy(io.Discard, a.Body); err != nil {
			t.Error(err)
		}
		return a.StatusCode
	}
	for _, known := range []bool{true, false} {
		if status := send(64<<10, known); status != http.StatusUnauthorized {
			t.Errorf("64 KiB, length known %v: %d", known, status)
		}
		if status := send(64<<10+1, known); status != http.StatusRequestEntityTooLarge {
			t.Errorf("one more byte, length known %v: %d", known, status)
		}
	}
	if n := tally.Of(intake.Body); n != 2 {
		t.Errorf("%d were counted", n)
	}
}

// TestBodyMemory checks that a large body is read and parsed only if there is memory for both. A
// small body needs none, and the memory of a large one is returned.
func TestBodyMemory(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *httpapi.Config) { c.Intake.Bodies = intake.NewBudget(800 << 10) })
	open := func(size int) answer {
		return r.do(request{method: "POST", path: "/client-session", body: fmt.Sprintf(`{"orderId":"order-1"%s}`, strings.Repeat(" ", size))})
	}
	for range 3 {
		r.want(open(10), 200, "")
		r.want(open(90<<10), 200, "")
		late := r.want(open(110<<10), 503, "ServiceUnavailable")
		if late.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
}

// heldEvents is a source whose pages begin when begun is received, and end with end.
type heldEvents struct {
	feeds.Source
	begun, end chan struct{}
}

func (h heldEvents) Page(context.Context, eventjson.Filter, uint64, int, func(eventjson.Event) error) (uint64, error) {
	h.begun <- struct{}{}
	<-h.end
	return 0, nil
}

func (heldEvents) Newest(context.Context) (uint64, error) { return 0, nil }

// TestListsInTheGate: lists that are being made take places in the gate; a list beyond them waits
// (D1).
func TestListsInTheGate(t *testing.T) {
	t.Parallel()
	gate := intake.NewGate(2, 8)
	held := heldEvents{begun: make(chan struct{}), end: make(chan struct{})}
	r := newRig(t, func(c *httpapi.Config) { c.Intake.Gate, held.Source, c.Events = gate, c.Events, &held })
	answers := make(chan answer)
	for range 3 {
		go func() { answers <- r.get("/events") }()
	}
	<-held.begun
	<-held.begun
	for gate.Waiting() == 0 {
		select {
		case <-held.begun:
			t.Fatal("three lists are made at once")
		default:
			runtime.Gosched()
		}
	}
	close(held.end)
	<-held.begun
	for range 3 {
		r.want(<-answers, 200, "")
	}
}
