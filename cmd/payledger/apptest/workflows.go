package apptest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/processorsim/adapter"
)

// The size of the test that kills a service with workflows.
const (
	FlowRounds   = 10
	FlowPayments = 100 // a round
	flowDeadline = 3 * time.Minute
)

// flowBooks are the processor's operations for a payment at the end.
const flowBooks = "authorize SUCCEEDED, capture SUCCEEDED, capture SUCCEEDED, refund SUCCEEDED"

// FlowRound makes payments, kills the process after a number of answers, and returns the payments'
// tokens.
func (m *Merchant) FlowRound(t *testing.T, p *Process, round, answers int) []string {
	t.Helper()
	tokens := make([]string, FlowPayments)
	var running sync.WaitGroup
	for i := range tokens {
		running.Go(func() { tokens[i] = m.Token(t, fmt.Sprintf("flow-%d-%d", round, i), 2501, CardApproved) })
	}
	running.Wait()
	var answered atomic.Int64
	var kill sync.Once
	for _, token := range tokens {
		running.Go(func() {
			m.Pay(token, "key-"+token) // it may die
			if answered.Add(1) > int64(answers) {
				kill.Do(p.Kill)
			}
		})
	}
	running.Wait()
	m.Client.CloseIdleConnections()
	return tokens
}

// FlowSettle repeats the creates of a round, so that each payment exists, and returns their ids.
func (m *Merchant) FlowSettle(t *testing.T, tokens []string) (ids []string) {
	t.Helper()
	for _, token := range tokens {
		a, err := m.Pay(token, "key-"+token)
		if err != nil {
			t.Fatal(err)
		}
		var made PaymentAnswer
		var refused ErrorAnswer
		switch a.Status {
		case 200:
			a.Decode(t, &made)
		case 409:
			a.Decode(t, &refused)
			made.ID = refused.Error.PaymentID
		default:
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		ids = append(ids, made.ID)
	}
	return ids
}

// FlowsEnd waits until the books have the expected operations and no run is open, and compares the
// books with the expected ones.
func (m *Merchant) FlowsEnd(t *testing.T, books *adapter.Adapter, ids, flows []string) {
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
			if _, open = m.RunCount(t, path); open > 0 {
				<-tick.C
			}
		}
	}
	for _, id := range ids {
		if got := bookLines(t, books, id); got != flowBooks {
			p, _ := m.Read(t, id)
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

// RunCount counts the succeeded and the open runs of a workflow; any other run is an error.
func (m *Merchant) RunCount(t *testing.T, path string) (succeeded, open int) {
	t.Helper()
	for cursor := ""; ; {
		var page struct {
			Data       []runSeen
			NextCursor string
		}
		m.Must(t, "GET", path+"/runs"+cursor, m.Headers(), nil).Decode(t, &page)
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

// Cards of the simulator's table (D13).
const (
	CardApproved    = "4111111111111111"
	CardNoCancel    = "4000000000005159"
	CardNoCapture   = "4000000000005142"
	CardSettlesLate = "4000000000005175"
)

// runSeen has the fields of a run that tests read.
type runSeen struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Workflow struct {
		Version int `json:"version"`
	} `json:"workflow"`
	StartedAt time.Time `json:"startedAt"`
	DueAt     time.Time `json:"dueAt"`
	PaymentID string    `json:"paymentId"`
	Trigger   struct {
		EventID string    `json:"eventId"`
		Date    time.Time `json:"date"`
	} `json:"trigger"`
	Condition struct {
		Holds  bool   `json:"holds"`
		Error  string `json:"error"`
		Values []struct{ Path, Value string }
	} `json:"condition"`
	Actions []struct {
		ID, Type, Status, Operation string
		Amount                      int64
		RequestedAt, EndedAt        time.Time
		StatusCode                  int
	} `json:"actions"`
	LastError *struct{ ApplicationID, ActionID, DiagnosticsID, Message string }
}

// Workflow makes a workflow and returns its path.
func (m *Merchant) Workflow(t testing.TB, definition string) string {
	t.Helper()
	var made struct {
		ID string `json:"id"`
	}
	m.Must(t, "POST", "/management/workflows", m.Headers(), definition).Decode(t, &made)
	return "/management/workflows/" + made.ID
}

// On is a workflow that a status starts.
func On(status, condition string, delay int, actions ...string) string {
	return fmt.Sprintf(`{"name":"on %s","trigger":{"eventType":"PAYMENT.STATUS","status":%q},"condition":%q,"delaySeconds":%d,"actions":[%s]}`,
		status, status, condition, delay, strings.Join(actions, ","))
}

// Runs returns the runs of a workflow.
func (m *Merchant) Runs(t testing.TB, path string) []runSeen {
	t.Helper()
	var list struct{ Data []runSeen }
	m.Must(t, "GET", path+"/runs", m.Headers(), nil).Decode(t, &list)
	return list.Data
}

// Ran waits until the workflow has n runs that are all over.
func (m *Merchant) Ran(t testing.TB, path string, n int) []runSeen {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var found []runSeen
	for deadline := time.Now().Add(SettleDeadline); time.Now().Before(deadline); <-tick.C {
		found = m.Runs(t, path)
		over := 0
		for _, r := range found {
			if r.Status != "WAITING" && r.Status != "RUNNING" {
				over++
			}
		}
		if over >= n {
			return found
		}
	}
	t.Fatalf("%d runs are not over: %+v", n, found)
	return nil
}

// Paid makes a payment of 25.00 EUR.
func (m *Merchant) Paid(t testing.TB, card string) PaymentAnswer {
	t.Helper()
	a, err := m.Pay(m.Token(t, "order-"+card[len(card)-4:], 2500, card), "")
	if err != nil || a.Status != 200 {
		t.Fatalf("%d %s %v", a.Status, a.Body, err)
	}
	var p PaymentAnswer
	a.Decode(t, &p)
	return p
}

// Asked compares the received requests with the disputes that they are about, each with its
// payment.
func (r *DisputeRun) Asked(requests <-chan Hook, payments map[string]string) {
	r.Helper()
	for range len(payments) {
		var sent struct {
			EventType string              `json:"eventType"`
			Payment   struct{ ID string } `json:"payment"`
			Dispute   DisputeHook         `json:"dispute"`
		}
		request := <-requests
		if err := json.Unmarshal(request.Body, &sent); err != nil {
			r.Fatal(err)
		}
		d := sent.Dispute
		if sent.EventType != "DISPUTE.STATUS" || sent.Payment.ID == "" || payments[d.ProcessorDisputeID] != sent.Payment.ID || d.PaymentID != sent.Payment.ID || d.Status != "OPEN" {
			r.Errorf("sent %s", request.Body)
		}
		delete(payments, d.ProcessorDisputeID)
	}
	if len(payments) != 0 || len(requests) != 0 {
		r.Errorf("no request about %v, %d more", payments, len(requests))
	}
}

// Simulates compares a simulation over the past with the workflow's actions.
func (r *DisputeRun) Simulates(path, payment string) {
	r.Helper()
	simulated := r.M.Must(r.T, "POST", path+"/simulate", r.M.Headers(), map[string]any{})
	var report struct {
		Triggered int
		Payments  []struct {
			PaymentID string `json:"paymentId"`
		}
	}
	simulated.Decode(r.T, &report)
	if report.Triggered != 2 || len(report.Payments) != 1 || report.Payments[0].PaymentID != payment {
		r.Errorf("simulated %s", simulated.Body)
	}
}

// The size of the test that kills a service with pending approvals.
const (
	ApprovalRounds      = 25
	ApprovalConcurrency = 40
)

// PendingApproval is an attempt that is decided in a round.
type PendingApproval struct {
	client, ID string
	Abort      bool
	Answered   bool
}

// PendingApprovals makes attempts that wait, every fourth of them to be aborted.
func (m *Merchant) PendingApprovals(t *testing.T) []*PendingApproval {
	t.Helper()
	attempts := make([]*PendingApproval, ApprovalConcurrency)
	var making sync.WaitGroup
	for i := range attempts {
		making.Go(func() {
			var session struct{ ClientToken string }
			m.Must(t, "POST", "/client-session", m.Headers(), `{"approvalMode":"MANUAL","orderId":"o","currencyCode":"EUR","amount":500}`).Decode(t, &session)
			browser := map[string]string{"X-Client-Token": session.ClientToken}
			var tool struct{ Token string }
			m.Must(t, "POST", "/payment-instruments", browser,
				`{"paymentInstrument":{"number":"4111111111111111","cvv":"737","expirationMonth":"03","expirationYear":"2099"}}`).Decode(t, &tool)
			asked, err := m.Call("POST", "/payment-attempts", browser, `{"paymentMethodToken":"`+tool.Token+`"}`)
			var started struct{ CurrentAttempt struct{ ID string } }
			if err != nil || asked.Status != http.StatusAccepted {
				t.Errorf("%d %s %v", asked.Status, asked.Body, err)
				return
			}
			asked.Decode(t, &started)
			attempts[i] = &PendingApproval{client: session.ClientToken, ID: started.CurrentAttempt.ID, Abort: i%4 == 3}
		})
	}
	making.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return attempts
}

// CarriedOut polls an attempt with the customer's request until its decision is carried out,
// compares it with the processors' books, and returns its outcome.
func (m *Merchant) CarriedOut(t *testing.T, books *adapter.Adapter, a *PendingApproval) string {
	t.Helper()
	var seen struct{ ApprovalStatus, PaymentID string }
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(SettleDeadline); ; <-tick.C {
		seen.PaymentID = ""
		m.Must(t, "GET", "/payment-attempts/"+a.ID, map[string]string{"X-Client-Token": a.client}, nil).Decode(t, &seen)
		if seen.ApprovalStatus != "APPROVED" || seen.PaymentID != "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("attempt %s is approved, and its payment is not there", a.ID)
		}
	}
	want := map[bool]string{true: "ABORTED", false: "APPROVED"}[a.Abort]
	if a.Answered && seen.ApprovalStatus != want {
		t.Fatalf("attempt %s was answered %s and is %s", a.ID, want, seen.ApprovalStatus)
	}
	if seen.PaymentID != "" {
		if paid := AwaitOutcome(t, m, seen.PaymentID); paid.Status != "AUTHORIZED" || paid.Amount != 500 {
			t.Fatalf("payment %+v", paid)
		}
		lines, err := books.Books(context.Background(), adapter.Filter{Reference: domain.PaymentID(seen.PaymentID)})
		if err != nil || len(lines) != 1 {
			t.Fatalf("the books hold %d operations: %v", len(lines), err)
		}
	}
	return fmt.Sprintf("answered %t, %s", a.Answered, seen.ApprovalStatus)
}

// LifecycleSeen has the fields of a payment's answer that tests read.
type LifecycleSeen struct {
	ID             string `json:"id"`
	Status         string `json:"status"`
	Amount         int64  `json:"amount"`
	RequiredAction *struct {
		ClientToken string `json:"clientToken"`
	} `json:"requiredAction"`
	StatusReason struct {
		Type string `json:"type"`
	} `json:"statusReason"`
	Processor struct {
		AmountCaptured int64 `json:"amountCaptured"`
		AmountRefunded int64 `json:"amountRefunded"`
	} `json:"processor"`
	Transactions []struct {
		Events []struct {
			ID   string `json:"id"`
			Type string `json:"type"`
		} `json:"events"`
	} `json:"transactions"`
}
