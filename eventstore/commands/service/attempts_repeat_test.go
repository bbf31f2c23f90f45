package service_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/domain/payment"
	"payledger/domain/seedtest"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands/approvals"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/commands/service"
)

// start requests an attempt.
func (r *rig) start(s *service.Service, from session.State, token domain.Token) attempt.State {
	r.t.Helper()
	made, err := s.StartAttempt(background, r.by, approvals.AttemptInput{Session: from.ID, Token: token})
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

// TestAttemptRepeatedAfterApproval checks that a repeat with a token that may pay again returns the attempt that has paid, whatever the
// state of its payment. Only after an unsuccessful payment another attempt is made, and it needs another approval (§3.3, D12).
func TestAttemptRepeatedAfterApproval(t *testing.T) {
	t.Parallel()
	r := newRigFor(t, false)
	s := r.newNode(t, time.Minute, nil).Service
	for _, number := range []string{approvedCard, "4000000000003220", challengeCard, "4000000000000002"} {
		from := r.opened(s, session.Fields{CustomerID: "customer-1", ApprovalMode: session.ApprovalManual})
		token := r.enteredIn(s, from, number, true)
		one := r.start(s, from, token)
		done, err := s.ApproveAttempt(background, r.by, one.ID)
		if err != nil {
			t.Fatal(err)
		}
		paid := r.payment(done.Payment)
		two := r.start(s, from, token)
		if paid.EndedUnpaid() == (two.ID == one.ID) {
			t.Errorf("%s, and the repeat gave %s after %s", paid.Status(), two.ID, one.ID)
		}
		if paid.EndedUnpaid() && two.Decision != "" {
			t.Errorf("the next attempt is %s", two.Decision)
		}
	}
}

// TestApprovedAndNotPaidYetIsRepeated checks that a repeat also returns an approval whose payment is not made yet, and cannot be made now.
func TestApprovedAndNotPaidYetIsRepeated(t *testing.T) {
	t.Parallel()
	r := newRigFor(t, false)
	s := r.newNode(t, time.Minute, nil).Service
	from := r.opened(s, session.Fields{CustomerID: "customer-1", ApprovalMode: session.ApprovalManual})
	token := r.enteredIn(s, from, approvedCard, true)
	one := r.start(s, from, token)
	r.dies("instrument.used", crashBefore, func(n *node) error {
		_, err := n.ApproveAttempt(background, r.by, one.ID)
		return err
	})
	n := r.newNode(t, time.Minute, newFault(effect{on: "instrument.used"}, refuses))
	if two := r.start(n.Service, from, token); two.ID != one.ID {
		t.Errorf("the repeat made %s", two.ID)
	}
	if err := s.RecoverAttempt(background, r.by.Account, one.ID); err != nil {
		t.Fatal(err)
	}
	r.consistent(one.ID)
}

// TestAbortSparesWhatHasPaid: the abort of a further attempt with a token leaves it to the payment of an earlier one (§3.3).
func TestAbortSparesWhatHasPaid(t *testing.T) {
	t.Parallel()
	r := newRigFor(t, false)
	s := r.newNode(t, time.Minute, nil).Service
	from := r.opened(s, session.Fields{CustomerID: "customer-1", ApprovalMode: session.ApprovalManual})
	paid, other := r.enteredIn(s, from, approvedCard, true), r.tokenIn(s, from, approvedCard)
	made, err := s.ApproveAttempt(background, r.by, r.start(s, from, paid).ID)
	if err == nil { // a session is paid once: another attempt is possible only after the end of the first payment
		_, err = s.Cancel(background, r.by, made.Payment, payment.Cancel{})
	}
	if err != nil {
		t.Fatal(err)
	}
	r.start(s, from, other)
	further := r.start(s, from, paid)
	if _, err := s.AbortAttempt(background, r.by, further.ID, ""); err != nil {
		t.Fatal(err)
	}
	if !r.instrument(paid).Good() || r.instrument(other).Good() {
		t.Errorf("paid: %+v, superseded: %+v", r.instrument(paid), r.instrument(other))
	}
	if p, err := r.payAgain(s, paid); err != nil || p.Status() != payment.StatusAuthorized {
		t.Error(p.Status(), err)
	}
}

// TestStartCrashes: any effect of an attempt's start fails or takes effect, with and without the end of the process,
// while another node starts another attempt: the attempt that the session names can be approved, and no other (§2.5).
func TestStartCrashes(t *testing.T) {
	t.Parallel()
	r := newRigFor(t, false)
	healthy := r.newNode(t, time.Minute, nil)
	for i, e := range []string{"attempt.created", "attempt.aborted", "instrument.invalidated", "session.attempt_started"} {
		for j, w := range []failureMode{refuses, twice, crashBefore, crashAfter, overtaken} {
			if seedtest.Sampled() && (i+j)%3 > 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s %s", e, w), func(t *testing.T) {
				t.Parallel()
				r.with(t).startThrough(healthy.Service, newFault(effect{on: e}, w))
			})
		}
	}
}

// startThrough starts attempts with three cards in a session, the second of them on a node with a fault, and has all
// approved that there can be.
func (r *rig) startThrough(healthy *service.Service, f *fault) {
	r.t.Helper()
	from := r.manual(healthy)
	var tokens []domain.Token
	for range 3 {
		tokens = append(tokens, r.tokenIn(healthy, from, approvedCard))
	}
	r.start(healthy, from, tokens[0])
	n := r.newNode(r.t, time.Minute, f)
	r.t.Cleanup(func() { closeOnce(f.resume) })
	given := n.untilFault(func() error {
		_, err := n.StartAttempt(background, r.by, approvals.AttemptInput{Session: from.ID, Token: tokens[1]})
		return err
	})
	if f.mode == crashBefore || f.mode == crashAfter {
		n.kill()
		<-given
	}
	r.start(healthy, from, tokens[2])
	if f.mode == overtaken {
		closeOnce(f.resume)
	}
	if f.mode != crashBefore && f.mode != crashAfter {
		<-given
	}
	r.approvesOne(healthy, from, tokens)
}

// approvesOne has every attempt approved that the tokens may have got: one pays.
func (r *rig) approvesOne(healthy *service.Service, from session.State, tokens []domain.Token) {
	r.t.Helper()
	named, err := healthy.Session(background, r.by.Account, from.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	var pay []domain.AttemptID
	for number := range uint64(6) {
		for _, token := range tokens {
			id := domain.NewAttemptID(from.ID, token, nil, number)
			if !r.attempt(id).Exists() {
				continue
			}
			if r.attempt(id).Due() { // the crash of an abort
				if err := healthy.RecoverAttempt(background, r.by.Account, id); err != nil {
					r.t.Error(err)
				}
			}
			if _, err := healthy.ApproveAttempt(background, r.by, id); err == nil {
				pay = append(pay, id)
				r.consistent(id)
			} else {
				refused(r.t, err, domain.ReasonAttemptNotPending)
			}
		}
	}
	if !slices.Equal(pay, []domain.AttemptID{named.Attempt}) {
		r.t.Errorf("%v pay, the session names %s", pay, named.Attempt)
	}
}

// TestApprovalHeedsNoLaterVaulting checks that a token still pays if the merchant vaults it, for any customer, between an approval and its
// payment (D5, §3.3).
func TestApprovalHeedsNoLaterVaulting(t *testing.T) {
	t.Parallel()
	r := newRigFor(t, false)
	healthy := r.newNode(t, time.Minute, nil)
	for _, in := range []instruments.VaultInput{{CustomerID: "customer-9"}, {CustomerID: "customer-9", Verify: true}} {
		a := r.asked(healthy.Service)
		r.dies("instrument.used", crashBefore, func(n *node) error {
			_, err := n.ApproveAttempt(background, r.by, a.ID)
			return err
		})
		in.Token = a.Token
		if _, err := healthy.VaultInstrument(background, r.by, in); err != nil {
			t.Fatal(err)
		}
		r.cleaned(healthy.Service)
		if err := healthy.RecoverAttempt(background, r.by.Account, a.ID); err != nil {
			t.Error("recovery:", err)
		}
		r.consistent(a.ID)
		if inst := r.instrument(a.Token); !inst.Vaulted() || !inst.Good() || inst.CustomerID != "customer-9" {
			t.Errorf("%+v", inst)
		}
		from := session.State{ID: a.Session}
		_, err := healthy.StartAttempt(background, r.by, approvals.AttemptInput{Session: from.ID, Token: r.tokenIn(healthy.Service, from, approvedCard)})
		refused(t, err, domain.ReasonPayment) // it is paid, once
	}
}

// impossible makes a recorded approval whose token belongs to another customer afterwards.
func (r *rig) impossible(s *service.Service) attempt.State {
	r.t.Helper()
	a := r.asked(s)
	if _, err := s.VaultInstrument(background, r.by, instruments.VaultInput{Token: a.Token, CustomerID: "customer-9"}); err != nil {
		r.t.Fatal(err)
	}
	meta, err := r.store.NewMeta("test", "request")
	if err != nil {
		r.t.Fatal(err)
	}
	tip, err := eventstore.NewRepositories(r.store).Attempts.Execute(background, r.by.Account, a.ID, meta,
		func(state attempt.State) (attempt.Event, error) {
			return attempt.DecideApprove(state, attempt.Approve{At: meta.At, Payment: domain.PaymentIDForAttempt(r.by.Account, a.ID), Terms: 2})
		})
	if err != nil {
		r.t.Fatal(err)
	}
	return tip.State
}

// TestApprovalThatCannotBePaid checks that an approval whose payment is refused for good ends as aborted, for all callers and after every
// crash. Its payment is never made, and the session accepts another attempt (§3.3).
func TestApprovalThatCannotBePaid(t *testing.T) {
	t.Parallel()
	r := newRigFor(t, false)
	healthy := r.newNode(t, time.Minute, nil)
	for i, e := range []string{"payment.key_claimed", "attempt.refused"} {
		for j, w := range []failureMode{refuses, twice, crashBefore, crashAfter, overtaken} {
			if seedtest.Sampled() && (i+j)%2 > 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s %s", e, w), func(t *testing.T) {
				t.Parallel()
				r := r.with(t)
				a, f := r.impossible(healthy.Service), newFault(effect{on: e}, w)
				n := r.newNode(t, time.Minute, f)
				given := n.untilFault(func() error { return n.RecoverAttempt(background, r.by.Account, a.ID) })
				if w == crashBefore || w == crashAfter {
					n.kill()
				}
				if err := healthy.RecoverAttempt(background, r.by.Account, a.ID); err != nil {
					t.Error(err)
				}
				closeOnce(f.resume)
				<-given
				if ended := r.attempt(a.ID); ended.Status(r.now()) != attempt.Aborted || ended.Due() || ended.Reason == "" || ended.Payment != "" {
					t.Errorf("%+v", ended)
				}
				_, err := healthy.ApproveAttempt(background, r.by, a.ID)
				refused(t, err, domain.ReasonAttemptNotPending)
				if _, err := healthy.AbortAttempt(background, r.by, a.ID, ""); err != nil {
					t.Error(err)
				}
				if r.payment(a.Payment).Exists() || r.operations(a.Payment) != 0 || !r.instrument(a.Token).Good() {
					t.Error("something came of it")
				}
				from := session.State{ID: a.Session}
				next := r.start(healthy.Service, from, r.tokenIn(healthy.Service, from, approvedCard))
				if _, err := healthy.ApproveAttempt(background, r.by, next.ID); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
