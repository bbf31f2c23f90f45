//go:build system

package kills

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/domain/seedtest"
	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/adapter"
	"payledger/processorsim/simulator"
)

// TestKillApprovals kills serve during approvals and aborts, starts it again, and looks before any
// request is repeated: the next start has carried out each decision once, and answered decisions
// are unchanged (§3.3, D5).
func TestKillApprovals(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	rounds, share := seedtest.Share(apptest.ApprovalRounds, 3)
	random := rand.New(rand.NewPCG(seedtest.Seed(t), share))
	sim, err := simulator.New(simulator.Config{Dir: t.TempDir(), Secret: []byte("secret")})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(sim.Handler())
	defer web.Close()
	defer sim.Close()
	books, err := adapter.New(web.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	start := func() *apptest.Process { return apptest.ServeProcess(t, "--data", data, "--processor-url", web.URL) }
	p := start()
	apiKey := p.Credentials.APIKey
	totals := map[string]int{}
	for range rounds {
		m := apptest.NewMerchant(p.Ready.API, apiKey)
		attempts := m.PendingApprovals(t)
		decideAndKill(t, p, m, attempts, random.IntN(apptest.ApprovalConcurrency-5))
		p = start()
		m = apptest.NewMerchant(p.Ready.API, apiKey)
		for _, a := range attempts {
			totals[m.CarriedOut(t, books, a)]++
		}
	}
	p.Stop()
	t.Logf("%d rounds: %v", rounds, totals)
}

// decideAndKill decides all at once and kills the process when so many were answered.
func decideAndKill(t *testing.T, p *apptest.Process, m *apptest.Merchant, attempts []*apptest.PendingApproval, answers int) {
	t.Helper()
	var answered atomic.Int64
	var kill sync.Once
	var running, fired sync.WaitGroup
	fired.Add(len(attempts))
	for _, a := range attempts {
		running.Go(func() {
			fired.Done()
			fired.Wait()
			what := "approve"
			if a.Abort {
				what = "abort"
			}
			got, err := m.Call("POST", "/payment-attempts/"+a.ID+"/"+what, m.Headers(), "")
			if a.Answered = err == nil && got.Status == http.StatusOK; err == nil && !a.Answered {
				t.Errorf("%s answered %d %s", what, got.Status, got.Body)
			}
			if answered.Add(1) > int64(answers) {
				kill.Do(p.Kill)
			}
		})
	}
	running.Wait()
	m.Client.CloseIdleConnections()
}
