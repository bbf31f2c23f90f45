package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/adapter"
	"payledger/processorsim/simulator"
)

const (
	flowRounds   = 10
	flowPayments = 100 // a round
	flowDeadline = 3 * time.Minute
)

// flowBooks are the processor's operations for a payment at the end.
const flowBooks = "authorize SUCCEEDED, capture SUCCEEDED, capture SUCCEEDED, refund SUCCEEDED"

// TestWorkflowKill sends payments through three workflows, each of which starts the next, while the service is killed and
// started again and again: in the end every action was done once at the processor, and each workflow has one run for each
// payment (D19).
func TestWorkflowKill(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
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
	start := func() *process { return serveProcess(t, "--data", data, "--processor-url", web.URL) }
	p := start()
	apiKey := p.credentials.APIKey
	m := newMerchant(p.ready.API, apiKey)
	flows := []string{
		m.workflow(t, on("AUTHORIZED", `payment.amount > 1000`, 0, `{"type":"capture","share":0.5,"final":false}`)),
		m.workflow(t, on("PARTIALLY_SETTLED", `payment.processor.amountCaptured < payment.amount`, 0, `{"type":"capture"}`)),
		m.workflow(t, on("SETTLED", `true`, 1, `{"type":"refund","amount":100,"reason":"thanks"}`)),
	}
	var ids []string
	for round := range flowRounds {
		made := m.flowRound(t, p, round, random.IntN(flowPayments-5))
		p = start()
		m = newMerchant(p.ready.API, apiKey)
		ids = append(ids, m.flowSettle(t, made)...)
	}
	m.flowsEnd(t, books, ids, flows)
	for _, path := range flows {
		if n, open := m.runCount(t, path); n != len(ids) || open > 0 {
			t.Errorf("%s has %d runs for %d payments, %d are open", path, n, len(ids), open)
		}
	}
	m.client.CloseIdleConnections()
	p.stop()
}

// flowRound makes payments, kills the process after a number of answers, and returns the payments' tokens.
func (m *merchant) flowRound(t *testing.T, p *process, round, answers int) []string {
	t.Helper()
	tokens := make([]string, flowPayments)
	var running sync.WaitGroup
	for i := range tokens {
		running.Go(func() { tokens[i] = m.token(t, fmt.Sprintf("flow-%d-%d", round, i), 2501, cardApproved) })
	}
	running.Wait()
	var answered atomic.Int64
	var kill sync.Once
	for _, token := range tokens {
		running.Go(func() {
			m.pay(token, "key-"+token) // it may die
			if answered.Add(1) > int64(answers) {
				kill.Do(p.kill)
			}
		})
	}
	running.Wait()
	m.client.CloseIdleConnections()
	return tokens
}

// flowSettle repeats the creates of a round, so that each payment exists, and returns their ids.
func (m *merchant) flowSettle(t *testing.T, tokens []string) (ids []string) {
	t.Helper()
	for _, token := range tokens {
		a, err := m.pay(token, "key-"+token)
		if err != nil {
			t.Fatal(err)
		}
		var made paymentAnswer
		var refused errorAnswer
		switch a.status {
		case 200:
			a.decode(t, &made)
		case 409:
			a.decode(t, &refused)
			made.ID = refused.Error.PaymentID
		default:
			t.Fatalf("%d %s", a.status, a.body)
		}
		ids = append(ids, made.ID)
	}
	return ids
}

// flowsEnd waits until the books have the expected operations and no run is open, and compares the books with the expected ones.
func (m *merchant) flowsEnd(t *testing.T, books *adapter.Adapter, ids, flows []string) {
	t.Helper()
	deadline := time.Now().Add(flowDeadline)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for _, id := range ids {
		for bookLines(t, books, id) != flowBooks && time.Now().Before(deadline) {
			<-tick.C
		}
	}
	for _, path := range flows {
		for open := 1; open > 0 && time.Now().Before(deadline); {
			if _, open = m.runCount(t, path); open > 0 {
				<-tick.C
			}
		}
	}
	for _, id := range ids {
		if got := bookLines(t, books, id); got != flowBooks {
			p, _ := m.read(t, id)
			t.Errorf("payment %s is %s, and the books have %s", id, p.Status, got)
		}
	}
}

func bookLines(t *testing.T, books *adapter.Adapter, id string) string {
	t.Helper()
	lines, err := books.Books(context.Background(), adapter.Filter{Reference: domain.PaymentID(id)})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range lines {
		got = append(got, string(l.Operation)+" "+string(l.State))
	}
	return strings.Join(got, ", ")
}

// runCount counts the succeeded and the open runs of a workflow; any other run is an error.
func (m *merchant) runCount(t *testing.T, path string) (succeeded, open int) {
	t.Helper()
	for cursor := ""; ; {
		var page struct {
			Data       []runSeen
			NextCursor string
		}
		m.must(t, "GET", path+"/runs"+cursor, m.headers(), nil).decode(t, &page)
		for _, r := range page.Data {
			switch r.Status {
			case "SUCCEEDED":
				succeeded++
			case "WAITING", "RUNNING":
				open++
			default:
				t.Errorf("run %+v", r)
			}
		}
		if page.NextCursor == "" {
			return succeeded, open
		}
		cursor = "?cursor=" + page.NextCursor
	}
}
