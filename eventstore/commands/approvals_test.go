package commands_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/domain/payment"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/commands/sessions"
)

func (r *rig) attempt(id domain.AttemptID) attempt.State {
	r.T.Helper()
	tip, err := eventstore.NewRepositories(r.Store).Attempts.Load(background, r.By.Account, id, eventstore.Latest)
	if err != nil {
		r.T.Fatal(err)
	}
	return tip.State
}

// consistent fails the test unless the attempt and its payment fit: a payment after an approval
// alone, and then one.
func (r *rig) consistent(id domain.AttemptID) {
	r.T.Helper()
	a := r.attempt(id)
	paid := domain.PaymentIDForAttempt(r.By.Account, id)
	token := r.Instrument(a.Token)
	switch a.Decision {
	case attempt.Approved:
		if p := r.Settled(paid); !a.Done || a.Payment != paid || p.Status() != payment.StatusAuthorized || r.Operations(paid) != 1 || token.UsedBy != paid {
			r.T.Errorf("approved: %+v, payment %s with %d operations, token used by %s", a, p.Status(), r.Operations(paid), token.UsedBy)
		}
		r.Audit(paid)
	case attempt.Aborted:
		if !a.Done || r.Payment(paid).Exists() || r.Operations(paid) != 0 || token.Good() {
			r.T.Errorf("aborted: %+v, token %+v", a, token)
		}
	default:
		if r.Payment(paid).Exists() || r.Operations(paid) != 0 || token.UsedBy != "" || !token.Good() {
			r.T.Errorf("pending: %+v, token %+v", a, token)
		}
	}
}

// TestApprovalCrashes lets each effect of an approval or an abort fail before it happens, or after
// it took effect, with and without the end of the process. Recovery completes the decision, and a
// repeat returns the one outcome (§3.3, D5).
func TestApprovalCrashes(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	healthy := r.NewNode(t, time.Minute, nil)
	for what, effects := range map[string][]string{
		"approve": {"attempt.approved", "instrument.used", "payment.created", commandstest.Authorize, "payment.authorized", "attempt.completed"},
		"abort":   {"attempt.aborted", "instrument.invalidated", "attempt.completed"},
	} {
		for i, e := range effects {
			for j, w := range commandstest.AppendModes {
				if e == commandstest.Authorize && w == commandstest.Refuses || seedtest.Sampled() && (i+j)%3 > 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s: %s %s", what, e, w), func(t *testing.T) {
					t.Parallel()
					r.with(t).decideThrough(healthy.Service, what, commandstest.NewFault(e, w))
				})
			}
		}
	}
}

// decideThrough decides an attempt on a node with a fault, recovers and repeats on another.
func (r *rig) decideThrough(healthy *service.Service, what string, f *commandstest.Fault) {
	r.T.Helper()
	a := r.Asked(healthy)
	n := r.NewNode(r.T, time.Minute, f)
	r.T.Cleanup(func() { commandstest.CloseOnce(f.Resume) })
	decide := func(s *service.Service) error {
		if what == "abort" {
			_, err := s.AbortAttempt(background, r.By, a.ID, "")
			return err
		}
		done, err := s.ApproveAttempt(background, r.By, a.ID)
		if err == nil && done.Payment != domain.PaymentIDForAttempt(r.By.Account, a.ID) {
			err = fmt.Errorf("answered %+v", done)
		}
		return err
	}
	given := n.UntilFault(func() error { return decide(n.Service) })
	switch f.Mode {
	case commandstest.CrashBefore, commandstest.CrashAfter:
		n.Kill()
		<-given
	case commandstest.Refuses:
		if err := <-given; err != nil {
			commandstest.Refused(r.T, err, domain.ReasonServiceUnavailable)
		}
	case commandstest.Overtaken:
		if err := decide(healthy); err != nil {
			r.T.Error(err)
		}
		commandstest.CloseOnce(f.Resume)
		fallthrough
	default:
		if err := <-given; err != nil {
			r.T.Error(err)
		}
	}
	paid := domain.PaymentIDForAttempt(r.By.Account, a.ID)
	if err := errors.Join(healthy.RecoverAttempt(background, r.By.Account, a.ID), healthy.Recover(background, r.By.Account, paid)); err != nil {
		r.T.Fatal(err)
	}
	r.consistent(a.ID)
	if err := decide(healthy); err != nil {
		r.T.Error("the repeat:", err)
	}
	if r.attempt(a.ID).Decision == "" {
		r.T.Error("not decided after the repeat")
	}
	r.consistent(a.ID)
}

// TestApprovedTerms checks that a change of the session after the approval does not count, even if
// a crash delays the payment: the customer pays the approved terms. If the session has expired by
// then, its card is gone, and the payment fails.
func TestApprovedTerms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		later  time.Duration
		status payment.Status
	}{{0, payment.StatusAuthorized}, {2 * time.Hour, payment.StatusFailed}} {
		r := newCluster(t)
		healthy := r.NewNode(t, time.Minute, nil)
		a := r.Asked(healthy.Service)
		r.Dies("instrument.used", commandstest.CrashBefore, func(n *commandstest.Node) error {
			_, err := n.ApproveAttempt(background, r.By, a.ID)
			return err
		})
		_, err := healthy.ChangeSession(background, r.By, a.Session, func(in sessions.SessionInput) (sessions.SessionInput, error) {
			in.Amount, in.OrderID = commandstest.Amount(9900), "order-2"
			return in, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		r.Ahead.Store(int64(c.later))
		if err := healthy.RecoverAttempt(background, r.By.Account, a.ID); err != nil {
			t.Fatal(err)
		}
		p := r.Settled(domain.PaymentIDForAttempt(r.By.Account, a.ID))
		if p.Amount != 2500 || p.OrderID != "order-1" || p.Status() != c.status {
			t.Errorf("%d %s %s", p.Amount, p.OrderID, p.Status())
		}
	}
}

// decision is a request about an attempt.
type decision string

// decided is the answer to a decision.
type decided struct {
	status attempt.Status
	reason domain.Reason
}

// attemptModel is the sequential model: the first decision counts, the same decision again has the
// same answer, and the other one is refused.
var attemptModel = porcupine.Model{
	Init: func() any { return attempt.RequiresApproval },
	Step: func(state, input, output any) (bool, any) {
		now, got := state.(attempt.Status), output.(decided)
		switch input.(decision) {
		case "read":
			return got == decided{status: now}, now
		case "approve":
			if now == attempt.Aborted {
				return got.reason == domain.ReasonAttemptNotPending, now
			}
			return got == decided{status: attempt.Approved}, attempt.Approved
		default:
			if now == attempt.Approved {
				return got.reason == domain.ReasonAttemptNotPending, now
			}
			return got == decided{status: attempt.Aborted}, attempt.Aborted
		}
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%v → %+v", in, out) },
}

// TestDecisionsAreLinearizable: of concurrent approvals and aborts of one attempt, on two nodes,
// the first decides, and every answer and every read fits (§3.3).
func TestDecisionsAreLinearizable(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	nodes := r.TwoNodes()
	random := commandstest.Seeded(t)
	const attempts, clients, requests = 12, 6, 4
	counts := map[attempt.Status]int{}
	var all sync.WaitGroup
	var asked []attempt.State
	for range attempts {
		a := r.Asked(nodes[0].Service)
		asked = append(asked, a)
		var plan [clients][requests]decision
		for c := range plan {
			for i := range plan[c] {
				plan[c][i] = []decision{"approve", "abort", "read"}[random.IntN(3)]
			}
		}
		all.Go(func() {
			h := commandstest.NewHistory()
			r.Clients(nodes, clients, func(client int, s *service.Service) {
				for _, q := range plan[client] {
					h.Call(client, q, func() any { return r.decide(s, a.ID, q) })
				}
			})
			h.Linearizable(t, attemptModel)
		})
	}
	all.Wait()
	for _, a := range asked {
		r.consistent(a.ID)
		counts[r.attempt(a.ID).Decision]++
	}
	t.Logf("%v", counts)
}

// decide carries a request out.
func (r *rig) decide(s *service.Service, id domain.AttemptID, q decision) decided {
	var a attempt.State
	var err error
	switch q {
	case "approve":
		a, err = s.ApproveAttempt(background, r.By, id)
	case "abort":
		a, err = s.AbortAttempt(background, r.By, id, "")
	default:
		a, err = s.Attempt(background, r.By.Account, id)
	}
	if err != nil {
		return decided{reason: domain.ReasonOf(err)}
	}
	return decided{status: a.Status(r.Now())}
}
