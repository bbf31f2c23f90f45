//go:build system

package kills

import (
	"math/rand/v2"
	"net/http/httptest"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/domain/seedtest"
	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/adapter"
	"payledger/processorsim/simulator"
)

// TestWorkflowKill sends payments through three workflows, each of which starts the next, while the
// service is killed and started again and again: in the end every action was done once at the
// processor, and each workflow has one run for each payment (D19).
func TestWorkflowKill(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	rounds, share := seedtest.Share(apptest.FlowRounds, 3)
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
	m := apptest.NewMerchant(p.Ready.API, apiKey)
	flows := []string{
		m.Workflow(t, apptest.On("AUTHORIZED", `payment.amount > 1000`, 0, `{"type":"capture","share":0.5,"final":false}`)),
		m.Workflow(t, apptest.On("PARTIALLY_SETTLED", `payment.processor.amountCaptured < payment.amount`, 0, `{"type":"capture"}`)),
		m.Workflow(t, apptest.On("SETTLED", `true`, 1, `{"type":"refund","amount":100,"reason":"thanks"}`)),
	}
	var ids []string
	for round := range rounds {
		made := m.FlowRound(t, p, round, random.IntN(apptest.FlowPayments-5))
		p = start()
		m = apptest.NewMerchant(p.Ready.API, apiKey)
		ids = append(ids, m.FlowSettle(t, made)...)
	}
	m.FlowsEnd(t, books, ids, flows)
	for _, path := range flows {
		if n, open := m.RunCount(t, path); n != len(ids) || open > 0 {
			t.Errorf("%s has %d runs for %d payments, %d are open", path, n, len(ids), open)
		}
	}
	m.Client.CloseIdleConnections()
	p.Stop()
}
