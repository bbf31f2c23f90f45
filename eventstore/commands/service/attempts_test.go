package service_test

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
	"payledger/domain/processor"
	"payledger/domain/seedtest"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands/approvals"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/commands/sessions"
)

// manual opens a MANUAL session for 25.00 EUR.
func (r *rig) manual(s *service.Service) session.State {
	r.t.Helper()
	return r.opened(s, session.Fields{ApprovalMode: session.ApprovalManual})
}

// opened opens a session for 25.00 EUR with more fields.
func (r *rig) opened(s *service.Service, fields session.Fields) session.State {
	r.t.Helper()
	fields.OrderID, fields.Currency, fields.Amount = "order-1", "EUR", amount(2500)
	id, err := eventstore.NewUUID(s.Random)
	if err != nil {
		r.t.Fatal(err)
	}
	opened, err := s.CreateSession(background, r.by, domain.SessionID(id), sessions.SessionInput{Fields: fields})
	if err != nil {
		r.t.Fatal(err)
	}
	return opened
}

func (r *rig) tokenIn(s *service.Service, from session.State, number string) domain.Token {
	r.t.Helper()
	return r.enteredIn(s, from, number, false)
}

// enteredIn enters a card in a session, to be vaulted at once or not.
func (r *rig) enteredIn(s *service.Service, from session.State, number string, vault bool) domain.Token {
	r.t.Helper()
	made, err := s.Tokenize(background, r.by, instruments.TokenizeInput{Session: from.ID, Vault: vault, Card: processor.Card{
		Number: number, CVV: "737", ExpirationMonth: "03", ExpirationYear: "2099", CardholderName: "Ada Lovelace",
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	return made.Token
}

// asked makes a waiting attempt.
func (r *rig) asked(s *service.Service) attempt.State {
	r.t.Helper()
	from := r.manual(s)
	made, err := s.StartAttempt(background, r.by, approvals.AttemptInput{Session: from.ID, Token: r.tokenIn(s, from, approvedCard)})
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

func (r *rig) attempt(id domain.AttemptID) attempt.State {
	r.t.Helper()
	tip, err := eventstore.NewRepositories(r.store).Attempts.Load(background, r.by.Account, id, eventstore.Latest)
	if err != nil {
		r.t.Fatal(err)
	}
	return tip.State
}

// consistent fails the test unless the attempt and its payment fit: a payment after an approval alone, and then one.
func (r *rig) consistent(id domain.AttemptID) {
	r.t.Helper()
	a := r.attempt(id)
	paid := domain.PaymentIDForAttempt(r.by.Account, id)
	token := r.instrument(a.Token)
	switch a.Decision {
	case attempt.Approved:
		if p := r.settled(paid); !a.Done || a.Payment != paid || p.Status() != payment.StatusAuthorized || r.operations(paid) != 1 || token.UsedBy != paid {
			r.t.Errorf("approved: %+v, payment %s with %d operations, token used by %s", a, p.Status(), r.operations(paid), token.UsedBy)
		}
		r.audit(paid)
	case attempt.Aborted:
		if !a.Done || r.payment(paid).Exists() || r.operations(paid) != 0 || token.Good() {
			r.t.Errorf("aborted: %+v, token %+v", a, token)
		}
	default:
		if r.payment(paid).Exists() || r.operations(paid) != 0 || token.UsedBy != "" || !token.Good() {
			r.t.Errorf("pending: %+v, token %+v", a, token)
		}
	}
}

// TestApprovalCrashes lets each effect of an approval or an abort fail before it happens, or after it took effect, with and without the
// end of the process. Recovery completes the decision, and a repeat returns the one outcome (§3.3, D5).
func TestApprovalCrashes(t *testing.T) {
	t.Parallel()
	r := newRigFor(t, false)
	healthy := r.newNode(t, time.Minute, nil)
	for what, effects := range map[string][]string{
		"approve": {"attempt.approved", "instrument.used", "payment.created", authorize, "payment.authorized", "attempt.completed"},
		"abort":   {"attempt.aborted", "instrument.invalidated", "attempt.completed"},
	} {
		for i, e := range effects {
			for j, w := range []failureMode{refuses, twice, crashBefore, crashAfter, overtaken} {
				if e == authorize && w == refuses || seedtest.Sampled() && (i+j)%3 > 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s: %s %s", what, e, w), func(t *testing.T) {
					t.Parallel()
					r.with(t).decideThrough(healthy.Service, what, newFault(effect{on: e}, w))
				})
			}
		}
	}
}

// dies runs a request on a node that ends at the given fault.
func (r *rig) dies(on string, w failureMode, request func(*node) error) {
	r.t.Helper()
	n := r.newNode(r.t, time.Minute, newFault(effect{on: on}, w))
	given := n.untilFault(func() error { return request(n) })
	n.kill()
	<-given
}

// decideThrough decides an attempt on a node with a fault, recovers and repeats on another.
func (r *rig) decideThrough(healthy *service.Service, what string, f *fault) {
	r.t.Helper()
	a := r.asked(healthy)
	n := r.newNode(r.t, time.Minute, f)
	r.t.Cleanup(func() { closeOnce(f.resume) })
	decide := func(s *service.Service) error {
		if what == "abort" {
			_, err := s.AbortAttempt(background, r.by, a.ID, "")
			return err
		}
		done, err := s.ApproveAttempt(background, r.by, a.ID)
		if err == nil && done.Payment != domain.PaymentIDForAttempt(r.by.Account, a.ID) {
			err = fmt.Errorf("answered %+v", done)
		}
		return err
	}
	given := n.untilFault(func() error { return decide(n.Service) })
	switch f.mode {
	case crashBefore, crashAfter:
		n.kill()
		<-given
	case refuses:
		if err := <-given; err != nil {
			refused(r.t, err, domain.ReasonServiceUnavailable)
		}
	case overtaken:
		if err := decide(healthy); err != nil {
			r.t.Error(err)
		}
		closeOnce(f.resume)
		fallthrough
	default:
		if err := <-given; err != nil {
			r.t.Error(err)
		}
	}
	paid := domain.PaymentIDForAttempt(r.by.Account, a.ID)
	if err := errors.Join(healthy.RecoverAttempt(background, r.by.Account, a.ID), healthy.Recover(background, r.by.Account, paid)); err != nil {
		r.t.Fatal(err)
	}
	r.consistent(a.ID)
	if err := decide(healthy); err != nil {
		r.t.Error("the repeat:", err)
	}
	if r.attempt(a.ID).Decision == "" {
		r.t.Error("not decided after the repeat")
	}
	r.consistent(a.ID)
}

// TestApprovedTerms checks that a change of the session after the approval does not count, even if a crash delays the payment: the
// customer pays the approved terms. If the session has expired by then, its card is gone, and the payment fails.
func TestApprovedTerms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		later  time.Duration
		status payment.Status
	}{{0, payment.StatusAuthorized}, {2 * time.Hour, payment.StatusFailed}} {
		r := newRigFor(t, false)
		healthy := r.newNode(t, time.Minute, nil)
		a := r.asked(healthy.Service)
		r.dies("instrument.used", crashBefore, func(n *node) error {
			_, err := n.ApproveAttempt(background, r.by, a.ID)
			return err
		})
		_, err := healthy.ChangeSession(background, r.by, a.Session, func(in sessions.SessionInput) (sessions.SessionInput, error) {
			in.Amount, in.OrderID = amount(9900), "order-2"
			return in, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		r.ahead.Store(int64(c.later))
		if err := healthy.RecoverAttempt(background, r.by.Account, a.ID); err != nil {
			t.Fatal(err)
		}
		p := r.settled(domain.PaymentIDForAttempt(r.by.Account, a.ID))
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

// attemptModel is the sequential model: the first decision counts, the same decision again has the same answer, and the other one is
// refused.
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

// TestDecisionsAreLinearizable: of concurrent approvals and aborts of one attempt, on two nodes, the first decides, and
// every answer and every read fits (§3.3).
func TestDecisionsAreLinearizable(t *testing.T) {
	t.Parallel()
	r := newRigFor(t, false)
	nodes := r.twoNodes()
	random := seeded(t)
	const attempts, clients, requests = 12, 6, 4
	counts := map[attempt.Status]int{}
	var all sync.WaitGroup
	var asked []attempt.State
	for range attempts {
		a := r.asked(nodes[0].Service)
		asked = append(asked, a)
		var plan [clients][requests]decision
		for c := range plan {
			for i := range plan[c] {
				plan[c][i] = []decision{"approve", "abort", "read"}[random.IntN(3)]
			}
		}
		all.Go(func() {
			h := &history{began: time.Now()}
			r.clients(nodes, clients, func(client int, s *service.Service) {
				for _, q := range plan[client] {
					h.call(client, q, func() any { return r.decide(s, a.ID, q) })
				}
			})
			h.linearizable(t, attemptModel)
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
		a, err = s.ApproveAttempt(background, r.by, id)
	case "abort":
		a, err = s.AbortAttempt(background, r.by, id, "")
	default:
		a, err = s.Attempt(background, r.by.Account, id)
	}
	if err != nil {
		return decided{reason: domain.ReasonOf(err)}
	}
	return decided{status: a.Status(r.now())}
}
