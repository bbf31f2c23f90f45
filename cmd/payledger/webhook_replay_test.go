package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"payledger/httpapi/openapitest"
)

// replayed is a replay as it is answered.
type replayed struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Count int    `json:"count"`
	Done  int    `json:"done"`
}

// holdingInbox counts webhooks by event. After the first ones it holds all back until it is released.
type holdingInbox struct {
	url  string
	free int // how many are answered at once
	let  chan struct{}

	mu   sync.Mutex
	came map[string]int
	held int
}

func newHoldingInbox(t *testing.T, free int) *holdingInbox {
	t.Helper()
	b := &holdingInbox{free: free, let: make(chan struct{}), came: map[string]int{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var body struct{ EventID string }
		if err := json.NewDecoder(q.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		if b.receive(body.EventID) {
			select {
			case <-b.let:
			case <-q.Context().Done():
			}
		}
	}))
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

// receive counts a webhook, and reports whether it has to wait.
func (b *holdingInbox) receive(event string) (wait bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.came[event]++
	if wait = len(b.came) > b.free; wait {
		b.held++
	}
	return wait
}

func (b *holdingInbox) counts() (distinct, all, held int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.came {
		all += n
	}
	return len(b.came), all, b.held
}

// TestReplayRestart checks that a replay that back-fills a new endpoint continues after the service was stopped or killed in the middle of
// it. Every webhook comes, and only those that were under way come twice (§6.1 rule 4, D18, D20).
func TestReplayRestart(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*process){"stopped": (*process).stop, "killed": (*process).kill} {
		if testing.Short() && name == "stopped" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n, free = 100, 70
			args := []string{"--data", t.TempDir(), "--webhook-allow-cidr", "127.0.0.0/8", "--webhook-timeout", "1m", "--log-level", "error"}
			p := serveProcess(t, args...)
			m := replayMerchant(t, p, p.credentials.APIKey)
			for i := range n {
				if a, err := m.pay(m.token(t, fmt.Sprint("order-", i), 100, "4000000000000002"), ""); err != nil || a.status != 200 {
					t.Fatal(a, err)
				}
			}
			box := newHoldingInbox(t, free)
			var endpoint, started replayed
			m.must(t, "POST", "/management/webhook-endpoints", m.headers(), map[string]any{"url": box.url}).decode(t, &endpoint)
			m.must(t, "POST", "/management/webhook-replays", m.headers(), map[string]any{
				"endpointId": endpoint.ID, "from": "2001-01-01T00:00:00Z", "to": "2099-01-01T00:00:00Z",
			}).decode(t, &started)
			eventually(t, func() bool { _, _, held := box.counts(); return held >= 6 }) // as many as a replay has under way
			if r := readReplay(t, m, started.ID); started.Count != n || r.State != "RUNNING" || r.Done != 64 {
				t.Errorf("of %d under way as %+v", started.Count, r)
			}
			end(p)

			p = serveProcess(t, args...)
			m = replayMerchant(t, p, m.key)
			if r := readReplay(t, m, started.ID); r.State != "RUNNING" || r.Count != n || r.Done < 64 || r.Done >= n {
				t.Errorf("after the restart %+v", r)
			}
			close(box.let)
			eventually(t, func() bool { return readReplay(t, m, started.ID).State == "DONE" })
			if r := readReplay(t, m, started.ID); r.Done != n {
				t.Errorf("it ended %+v", r)
			}
			allSucceeded(t, m, endpoint.ID, n)
			if distinct, all, held := box.counts(); distinct != n || all > n+12 {
				t.Errorf("%d came %d times, %d of them held; want %d", distinct, all, held, n)
			}
			p.stop()
		})
	}
}

// replayMerchant checks every answer against openapi.yaml.
func replayMerchant(t *testing.T, p *process, key string) *merchant {
	t.Helper()
	m := newMerchant(p.ready.API, key)
	m.client = openapitest.Client(t, m.client.Transport)
	return m
}

func readReplay(t *testing.T, m *merchant, id string) (r replayed) {
	t.Helper()
	m.must(t, "GET", "/management/webhook-replays/"+id, m.headers(), nil).decode(t, &r)
	return r
}

// allSucceeded waits until all n deliveries to an endpoint have succeeded.
func allSucceeded(t *testing.T, m *merchant, endpoint string, n int) {
	t.Helper()
	var list struct {
		Data []struct {
			Outcome      string `json:"outcome"`
			AttemptCount int    `json:"attemptCount"`
		} `json:"data"`
	}
	query := url.Values{"endpointId": {endpoint}, "outcome": {"SUCCEEDED"}, "limit": {fmt.Sprint(n)}}
	eventually(t, func() bool {
		m.must(t, "GET", "/management/webhook-deliveries?"+query.Encode(), m.headers(), nil).decode(t, &list)
		return len(list.Data) == n
	})
}

// eventually waits until is reports true.
func eventually(t testing.TB, is func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(settleDeadline); !is(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("it does not come to be")
		}
	}
}
