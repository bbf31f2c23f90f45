//go:build system

package kills

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/httpapi/openapitest"
)

// holdingInbox counts webhooks by event. After the first ones it holds all back until it is
// released.
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

// TestReplayRestart checks that a replay that back-fills a new endpoint continues after the service
// was stopped or killed in the middle of it. Every webhook comes, and only those that were under
// way come twice (§6.1 rule 4, D18, D20).
func TestReplayRestart(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*apptest.Process){"stopped": (*apptest.Process).Stop, "killed": (*apptest.Process).Kill} {
		if testing.Short() && name == "stopped" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n, free = 100, 70
			args := []string{"--data", t.TempDir(), "--webhook-allow-cidr", "127.0.0.0/8", "--webhook-timeout", "1m", "--log-level", "error"}
			p := apptest.ServeProcess(t, args...)
			m := replayMerchant(t, p, p.Credentials.APIKey)
			for i := range n {
				if a, err := m.Pay(m.Token(t, fmt.Sprint("order-", i), 100, "4000000000000002"), ""); err != nil || a.Status != 200 {
					t.Fatal(a, err)
				}
			}
			box := newHoldingInbox(t, free)
			var endpoint, started apptest.Replayed
			m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": box.url}).Decode(t, &endpoint)
			m.Must(t, "POST", "/management/webhook-replays", m.Headers(), map[string]any{
				"endpointId": endpoint.ID, "from": "2001-01-01T00:00:00Z", "to": "2099-01-01T00:00:00Z",
			}).Decode(t, &started)
			apptest.Until(t, apptest.SettleDeadline, "six webhooks are held, as many as a replay has under way", func() (bool, string) {
				distinct, all, held := box.counts()
				return held >= 6, fmt.Sprintf("%d of %d events came %d times, %d are held", distinct, n, all, held)
			})
			if r := apptest.ReadReplay(t, m, started.ID); started.Count != n || r.State != "RUNNING" || r.Done != 64 {
				t.Errorf("of %d under way as %+v", started.Count, r)
			}
			end(p)

			p = apptest.ServeProcess(t, args...)
			m = replayMerchant(t, p, m.Key)
			if r := apptest.ReadReplay(t, m, started.ID); r.State != "RUNNING" || r.Count != n || r.Done < 64 || r.Done >= n {
				t.Errorf("after the restart %+v", r)
			}
			close(box.let)
			apptest.Until(t, apptest.SettleDeadline, "the replay is done", func() (bool, string) {
				r := apptest.ReadReplay(t, m, started.ID)
				return r.State == "DONE", fmt.Sprintf("%+v", r)
			})
			if r := apptest.ReadReplay(t, m, started.ID); r.Done != n {
				t.Errorf("it ended %+v", r)
			}
			apptest.AllSucceeded(t, m, endpoint.ID, n)
			if distinct, all, held := box.counts(); distinct != n || all > n+12 {
				t.Errorf("%d came %d times, %d of them held; want %d", distinct, all, held, n)
			}
			p.Stop()
		})
	}
}

// replayMerchant checks every answer against openapi.yaml.
func replayMerchant(t *testing.T, p *apptest.Process, key string) *apptest.Merchant {
	t.Helper()
	m := apptest.NewMerchant(p.Ready.API, key)
	m.Client = openapitest.Client(t, m.Client.Transport)
	return m
}
