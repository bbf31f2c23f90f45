//go:build system

package kills

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/notifier/signature"
)

// webhookEndpoints are the paths of a merchant's receivers: one answers at once, one fails now and
// then, one is slow.
var webhookEndpoints = []string{"steady", "flaky", "slow"}

// webhookFailures is how often in a row the flaky endpoint refuses a webhook at most: its last
// automatic attempt is never needed.
const webhookFailures = 4

// webhookEvent is a webhook that an event causes.
type webhookEvent struct {
	Payment  string
	Sequence uint64
	Kind     string
}

// webhookAt is a webhook for one endpoint.
type webhookAt struct {
	endpoint string
	webhookEvent
}

// webhookArrival is one request of it.
type webhookArrival struct {
	at     time.Time
	status int // of the answer
}

// webhookInbox verifies webhooks, answers as its endpoints do, and records the webhooks.
type webhookInbox struct {
	t   *testing.T
	url string

	mu     sync.Mutex
	secret string
	came   map[webhookAt][]webhookArrival
	// sequences are the revisions of events by their ids: the attempt log has only ids.
	sequences map[string]uint64
	taken     chan struct{} // has a token after a webhook came
}

func newWebhookInbox(t *testing.T) *webhookInbox {
	b := &webhookInbox{t: t, came: map[webhookAt][]webhookArrival{}, sequences: map[string]uint64{}, taken: make(chan struct{}, 1)}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

// trust sets the secret that webhooks are signed with.
func (b *webhookInbox) trust(secret string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.secret = secret
}

func (b *webhookInbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // its sender was killed
	}
	b.mu.Lock()
	secret := b.secret
	b.mu.Unlock()
	if err := signature.Verify(r.Header, body, at, secret); err != nil {
		b.t.Errorf("%s: %v: %s", r.URL, err, body)
	}
	var payload struct {
		EventType string `json:"eventType"`
		EventID   string `json:"eventId"`
		Sequence  uint64 `json:"sequence"`
		Payment   struct {
			ID string `json:"id"`
		} `json:"payment"`
	}
	if err := json.Unmarshal(body, &payload); err != nil {
		b.t.Errorf("%v: %s", err, body)
	}
	endpoint := strings.TrimPrefix(r.URL.Path, "/")
	status := b.note(webhookAt{endpoint, webhookEvent{payload.Payment.ID, payload.Sequence, payload.EventType}}, payload.EventID, at)
	if endpoint == "slow" {
		select {
		case <-time.After(time.Duration(20+at.UnixNano()%60) * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
	w.WriteHeader(status)
}

// note records a request, and returns its answer.
func (b *webhookInbox) note(what webhookAt, event string, at time.Time) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sequences[event] = what.Sequence
	status, before := http.StatusOK, b.came[what]
	if what.endpoint == "flaky" && len(before) < webhookFailures && at.UnixMicro()%2 == 0 {
		status = http.StatusInternalServerError
	}
	b.came[what] = append(before, webhookArrival{at, status})
	select {
	case b.taken <- struct{}{}:
	default:
	}
	return status
}

// await waits until every event's webhook was taken at every endpoint.
func (b *webhookInbox) await(events map[webhookEvent]bool) {
	b.t.Helper()
	deadline := time.After(webhookSettles)
	for {
		missing := b.missing(events)
		if len(missing) == 0 {
			return
		}
		select {
		case <-b.taken:
		case <-deadline:
			b.t.Fatalf("%d webhooks are lost: %+v", len(missing), missing)
		}
	}
}

func (b *webhookInbox) missing(events map[webhookEvent]bool) (missing []webhookAt) {
	came := b.all()
	for e := range events {
		for _, endpoint := range webhookEndpoints {
			at := webhookAt{endpoint, e}
			if !slices.ContainsFunc(came[at], func(a webhookArrival) bool { return a.status == http.StatusOK }) {
				missing = append(missing, at)
			}
		}
	}
	return missing
}

func (b *webhookInbox) all() map[webhookAt][]webhookArrival {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make(map[webhookAt][]webhookArrival, len(b.came))
	for at, arrivals := range b.came {
		all[at] = slices.Clone(arrivals)
	}
	return all
}

// sequence is the revision of an event; 0 when no webhook of it came.
func (b *webhookInbox) sequence(event string) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sequences[event]
}

// webhookDelivery has the fields of the attempt log that this test reads.
type webhookDelivery struct {
	ID         string    `json:"id"`
	EndpointID string    `json:"endpointId"`
	EventType  string    `json:"eventType"`
	EventID    string    `json:"eventId"`
	PaymentID  string    `json:"paymentId"`
	Outcome    string    `json:"outcome"`
	PlannedAt  time.Time `json:"plannedAt"`
	Tried      []webhookTry
}

type webhookTry struct {
	StartedAt  time.Time `json:"startedAt"`
	DurationMs int64     `json:"durationMs"`
	Failure    string    `json:"failure"`
}

// end is at most a millisecond before the attempt's end.
func (a webhookTry) end() time.Time {
	return a.StartedAt.Add(time.Duration(a.DurationMs) * time.Millisecond)
}

// open reports whether a delivery waits for an attempt.
func (r *webhookRun) open() bool {
	r.t.Helper()
	var page struct{ Data []webhookDelivery }
	r.m.Must(r.t, "GET", "/management/webhook-deliveries?limit=1&outcome=PLANNED,FAILED", r.m.Headers(), nil).Decode(r.t, &page)
	return len(page.Data) > 0
}

// attemptLog reads every delivery with its attempts, once none is open.
func (r *webhookRun) attemptLog() map[webhookAt]webhookDelivery {
	r.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(webhookSettles); r.open(); <-tick.C {
		if time.Now().After(deadline) {
			r.t.Fatal("deliveries stay open")
		}
	}
	names := r.endpointNames()
	log := map[webhookAt]webhookDelivery{}
	for cursor := ""; ; {
		var page struct {
			Data       []webhookDelivery `json:"data"`
			NextCursor string            `json:"nextCursor"`
		}
		r.m.Must(r.t, "GET", "/management/webhook-deliveries"+cursor, r.m.Headers(), nil).Decode(r.t, &page)
		for _, d := range page.Data {
			var detail struct {
				Attempts []webhookTry `json:"attempts"`
			}
			r.m.Must(r.t, "GET", "/management/webhook-deliveries/"+d.ID, r.m.Headers(), nil).Decode(r.t, &detail)
			d.Tried = detail.Attempts
			at := webhookAt{names[d.EndpointID], webhookEvent{d.PaymentID, r.inbox.sequence(d.EventID), d.EventType}}
			if _, twice := log[at]; twice {
				r.t.Errorf("%+v stands twice in the attempt log", at)
			}
			log[at] = d
		}
		if cursor = "?cursor=" + url.QueryEscape(page.NextCursor); page.NextCursor == "" {
			return log
		}
	}
}

// endpointNames returns the endpoints' paths by their ids.
func (r *webhookRun) endpointNames() map[string]string {
	r.t.Helper()
	var made struct {
		Data []struct {
			ID          string `json:"id"`
			Description string `json:"description"`
		} `json:"data"`
	}
	r.m.Must(r.t, "GET", "/management/webhook-endpoints", r.m.Headers(), nil).Decode(r.t, &made)
	names := map[string]string{}
	for _, e := range made.Data {
		names[e.ID] = e.Description
	}
	return names
}
