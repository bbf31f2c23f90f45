package httpapi_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore"
	"payledger/eventstore/commands/workflows"
	"payledger/eventstore/secrets"
	"payledger/notifier"
	"payledger/projections/deliveries"
)

// webhooks are the notifier and its attempt log behind a rig's API. They are the real ones, so that
// the management shows the webhooks that were sent.
type webhooks struct {
	retries []time.Duration // delays between automatic attempts; none: a failed delivery is exhausted at once
	rate    float64         // of replays, per second; 0: the default
	keep    time.Duration   // how long settled deliveries are kept; 0: the default

	notifier *notifier.Notifier
	index    *deliveries.Index
	log      *notifier.AttemptLog
	engine   *workflows.Engine // the engine of the workflows, which the events of webhooks start
}

// open makes them for a rig that has a store and views, before its fan-out runs.
func (w *webhooks) open(ctx context.Context, r *rig, fanout *eventstore.Fanout, vault *secrets.Store, logger zerolog.Logger) {
	r.t.Helper()
	var err error
	w.notifier, err = notifier.New(ctx, notifier.Config{
		Store: r.store, Fanout: fanout, Secrets: vault, Views: r.views, Now: r.now, Random: rand.Reader, Logger: logger,
		Timeout:     time.Minute, // receivers that hang do so until a test has looked
		RetryDelays: append([]time.Duration{}, w.retries...), AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	must(r.t, err)
	w.index, err = deliveries.Open(ctx, filepath.Join(r.dir, "views"), logger)
	must(r.t, err)
	w.log, err = notifier.OpenAttemptLog(ctx, notifier.AttemptLogConfig{
		Notifier: w.notifier, Index: w.index, Now: r.now, ReplayRate: w.rate, Retention: w.keep,
	})
	must(r.t, err)
	ofPayments, ofDisputes, err := notifier.Compilers()
	must(r.t, err)
	w.engine, err = workflows.New(ctx, workflows.Config{
		Store: r.store, Compiler: ofPayments, DisputeCompiler: ofDisputes, Subjects: w.notifier.Workflows(), Requests: w.notifier.Workflows(),
		Payments: r.service, Now: r.now, Logger: logger, Alone: true,
		OpenRuns: r.views,
	})
	must(r.t, err)
	w.engine.Act()
}

// hookRig is a rig that sends webhooks to an inbox.
type hookRig struct {
	*rig
	inbox *inbox
}

func newHookRig(t testing.TB, hooks webhooks) *hookRig {
	t.Helper()
	box := newInbox(t)
	return &hookRig{newRigWith(t, usualTimeout, &hooks), box}
}

// inbox is a merchant's receivers, one a path: each answers with its configured status, 200 at
// first.
type inbox struct {
	url  string
	mu   sync.Mutex
	says map[string]http.HandlerFunc
	came []hook
}

// hook is a webhook as it came.
type hook struct{ path, eventID, eventType, body string }

func newInbox(t testing.TB) *inbox {
	t.Helper()
	box := &inbox{says: map[string]http.HandlerFunc{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		var seen struct{ EventID, EventType string }
		if err = errors.Join(err, json.Unmarshal(body, &seen)); err != nil {
			t.Error(err)
		}
		box.mu.Lock()
		box.came = append(box.came, hook{q.URL.Path, seen.EventID, seen.EventType, string(body)})
		say := box.says[q.URL.Path]
		box.mu.Unlock()
		if say != nil {
			q.Body = io.NopCloser(bytes.NewReader(body))
			say(w, q)
		}
	}))
	t.Cleanup(server.Close)
	box.url = server.URL
	return box
}

// answer has a path answer so from now on.
func (b *inbox) answer(path string, say http.HandlerFunc) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.says[path] = say
}

// at returns the webhooks that a path has received so far.
func (b *inbox) at(path string) (came []hook) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range b.came {
		if h.path == path {
			came = append(came, h)
		}
	}
	return came
}

// status answers with a status and a text.
func status(code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text) // the sender may have gone
	}
}

// hanging answers 200 when the gate opens.
func hanging(gate <-chan struct{}) http.HandlerFunc {
	return func(_ http.ResponseWriter, q *http.Request) {
		select {
		case <-gate:
		case <-q.Context().Done():
		}
	}
}

// arrived waits until a path has received n webhooks, and returns them.
func (r *hookRig) arrived(path string, n int) []hook {
	r.t.Helper()
	var came []hook
	r.eventually(func() bool { came = r.inbox.at(path); return len(came) >= n }, func() string {
		return fmt.Sprintf("%d webhooks came to %s, want %d", len(came), path, n)
	})
	return came
}

// eventually waits until a condition is true.
func (r *hookRig) eventually(is func() bool, otherwise func() string) {
	r.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !is(); <-tick.C {
		if time.Now().After(deadline) {
			r.t.Fatal(otherwise())
		}
	}
}

// takes creates an endpoint for a path of the inbox, for some event types or for all, and returns
// its id.
func (r *hookRig) takes(path string, kinds ...string) string {
	r.t.Helper()
	body, err := json.Marshal(map[string]any{"url": r.inbox.url + path, "eventTypes": append([]string{}, kinds...)})
	must(r.t, err)
	return r.rig.endpoint(string(body)).text1("id")
}

// deliveries requests a page of the list, and returns its elements.
func (r *hookRig) deliveries(query string) ([]map[string]any, answer) {
	r.t.Helper()
	a := r.want(r.manage("GET", "/webhook-deliveries?"+query, ""), 200, "")
	found := []map[string]any{}
	for _, one := range a.field("data").([]any) {
		found = append(found, one.(map[string]any))
	}
	return found, a
}

// settled waits until n deliveries match a query, and returns them.
func (r *hookRig) settled(query string, n int) (found []map[string]any) {
	r.t.Helper()
	r.eventually(func() bool { found, _ = r.deliveries(query); return len(found) == n }, func() string {
		return fmt.Sprintf("%d deliveries fit %s, want %d: %v", len(found), query, n, found)
	})
	return found
}

// unsigned returns a webhook's body without the fields of the endpoint and the attempt (D17).
func unsigned(t *testing.T, h hook) string {
	t.Helper()
	var body map[string]any
	must(t, json.Unmarshal([]byte(h.body), &body))
	delete(body, "signedAt")
	delete(body, "notificationConfig")
	text, err := json.Marshal(body)
	must(t, err)
	return string(text)
}
