package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
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
	approvalRounds      = 25
	approvalConcurrency = 40
)

// pendingApproval is an attempt that is decided in a round.
type pendingApproval struct {
	client, id string
	abort      bool
	answered   bool
}

// TestKillApprovals kills serve during approvals and aborts, starts it again, and looks before any request is repeated: the next start has
// carried out each decision once, and answered decisions are unchanged (§3.3, D5).
func TestKillApprovals(t *testing.T) {
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
	totals := map[string]int{}
	for range approvalRounds {
		m := newMerchant(p.ready.API, apiKey)
		attempts := m.pendingApprovals(t)
		decideAndKill(t, p, m, attempts, random.IntN(approvalConcurrency-5))
		p = start()
		m = newMerchant(p.ready.API, apiKey)
		for _, a := range attempts {
			totals[m.carriedOut(t, books, a)]++
		}
	}
	p.stop()
	t.Logf("%d rounds: %v", approvalRounds, totals)
}

// pendingApprovals makes attempts that wait, every fourth of them to be aborted.
func (m *merchant) pendingApprovals(t *testing.T) []*pendingApproval {
	t.Helper()
	attempts := make([]*pendingApproval, approvalConcurrency)
	var making sync.WaitGroup
	for i := range attempts {
		making.Go(func() {
			var session struct{ ClientToken string }
			m.must(t, "POST", "/client-session", m.headers(), `{"approvalMode":"MANUAL","orderId":"o","currencyCode":"EUR","amount":500}`).decode(t, &session)
			browser := map[string]string{"X-Client-Token": session.ClientToken}
			var tool struct{ Token string }
			m.must(t, "POST", "/payment-instruments", browser,
				`{"paymentInstrument":{"number":"4111111111111111","cvv":"737","expirationMonth":"03","expirationYear":"2099"}}`).decode(t, &tool)
			asked, err := m.call("POST", "/payment-attempts", browser, `{"paymentMethodToken":"`+tool.Token+`"}`)
			var started struct{ CurrentAttempt struct{ ID string } }
			if err != nil || asked.status != http.StatusAccepted {
				t.Errorf("%d %s %v", asked.status, asked.body, err)
				return
			}
			asked.decode(t, &started)
			attempts[i] = &pendingApproval{client: session.ClientToken, id: started.CurrentAttempt.ID, abort: i%4 == 3}
		})
	}
	making.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return attempts
}

// decideAndKill decides all at once and kills the process when so many were answered.
func decideAndKill(t *testing.T, p *process, m *merchant, attempts []*pendingApproval, answers int) {
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
			if a.abort {
				what = "abort"
			}
			got, err := m.call("POST", "/payment-attempts/"+a.id+"/"+what, m.headers(), "")
			if a.answered = err == nil && got.status == http.StatusOK; err == nil && !a.answered {
				t.Errorf("%s answered %d %s", what, got.status, got.body)
			}
			if answered.Add(1) > int64(answers) {
				kill.Do(p.kill)
			}
		})
	}
	running.Wait()
	m.client.CloseIdleConnections()
}

// carriedOut polls an attempt with the customer's request until its decision is carried out, compares it with the processors'
// books, and returns its outcome.
func (m *merchant) carriedOut(t *testing.T, books *adapter.Adapter, a *pendingApproval) string {
	t.Helper()
	var seen struct{ ApprovalStatus, PaymentID string }
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(settleDeadline); ; <-tick.C {
		seen.PaymentID = ""
		m.must(t, "GET", "/payment-attempts/"+a.id, map[string]string{"X-Client-Token": a.client}, nil).decode(t, &seen)
		if seen.ApprovalStatus != "APPROVED" || seen.PaymentID != "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("attempt %s is approved, and its payment is not there", a.id)
		}
	}
	want := map[bool]string{true: "ABORTED", false: "APPROVED"}[a.abort]
	if a.answered && seen.ApprovalStatus != want {
		t.Fatalf("attempt %s was answered %s and is %s", a.id, want, seen.ApprovalStatus)
	}
	if seen.PaymentID != "" {
		if paid := awaitOutcome(t, m, seen.PaymentID); paid.Status != "AUTHORIZED" || paid.Amount != 500 {
			t.Fatalf("payment %+v", paid)
		}
		lines, err := books.Books(context.Background(), adapter.Filter{Reference: domain.PaymentID(seen.PaymentID)})
		if err != nil || len(lines) != 1 {
			t.Fatalf("the books hold %d operations: %v", len(lines), err)
		}
	}
	return fmt.Sprintf("answered %t, %s", a.answered, seen.ApprovalStatus)
}
