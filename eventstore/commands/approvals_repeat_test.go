package commands_test

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
	"payledger/eventstore/commands/approvals"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/commands/service"
)

// start requests an attempt.
func (r *rig) start(s *service.Service, from session.State, token domain.Token) attempt.State {
	r.T.Helper()
	made, err := s.StartAttempt(background, r.By, approvals.AttemptInput{Session: from.ID, Token: token})
	if err != nil {
		r.T.Fatal(err)
	}
	return made
}

// TestAttemptRepeatedAfterApproval checks that a repeat with a token that may pay again returns the
// attempt that has paid, whatever the state of its payment. Only after an unsuccessful payment
// another attempt is made, and it needs another approval (§3.3, D12).
func TestAttemptRepeatedAfterApproval(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	s := r.NewNode(t, time.Minute, nil).Service
	for _, number := range []string{commandstest.ApprovedCard, "4000000000003220", commandstest.ChallengeCard, "4000000000000002"} {
		from := r.Opened(s, session.Fields{CustomerID: "customer-1", ApprovalMode: session.ApprovalManual})
		token := r.EnteredIn(s, from, number, true)
		one := r.start(s, from, token)
		done, err := s.ApproveAttempt(background, r.By, one.ID)
		if err != nil {
			t.Fatal(err)
		}
		paid := r.Payment(done.Payment)
		two := r.start(s, from, token)
		if paid.EndedUnpaid() == (two.ID == one.ID) {
			t.Errorf("%s, and the repeat gave %s after %s", paid.Status(), two.ID, one.ID)
		}
		if paid.EndedUnpaid() && two.Decision != "" {
			t.Errorf("the next attempt is %s", two.Decision)
		}
	}
}

// TestApprovedAndNotPaidYetIsRepeated checks that a repeat also returns an approval whose payment
// is not made yet, and cannot be made now.
func TestApprovedAndNotPaidYetIsRepeated(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	s := r.NewNode(t, time.Minute, nil).Service
	from := r.Opened(s, session.Fields{CustomerID: "customer-1", ApprovalMode: session.ApprovalManual})
	token := r.EnteredIn(s, from, commandstest.ApprovedCard, true)
	one := r.start(s, from, token)
	r.Dies("instrument.used", commandstest.CrashBefore, func(n *commandstest.Node) error {
		_, err := n.ApproveAttempt(background, r.By, one.ID)
		return err
	})
	n := r.NewNode(t, time.Minute, commandstest.NewFault("instrument.used", commandstest.Refuses))
	if two := r.start(n.Service, from, token); two.ID != one.ID {
		t.Errorf("the repeat made %s", two.ID)
	}
	if err := s.RecoverAttempt(background, r.By.Account, one.ID); err != nil {
		t.Fatal(err)
	}
	r.consistent(one.ID)
}

// TestAbortSparesWhatHasPaid: the abort of a further attempt with a token leaves it to the payment
// of an earlier one (§3.3).
func TestAbortSparesWhatHasPaid(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	s := r.NewNode(t, time.Minute, nil).Service
	from := r.Opened(s, session.Fields{CustomerID: "customer-1", ApprovalMode: session.ApprovalManual})
	paid, other := r.EnteredIn(s, from, commandstest.ApprovedCard, true), r.TokenIn(s, from, commandstest.ApprovedCard)
	made, err := s.ApproveAttempt(background, r.By, r.start(s, from, paid).ID)
	if err == nil { // a session is paid once: another attempt is possible only after the end of the first payment
		_, err = s.Cancel(background, r.By, made.Payment, payment.Cancel{})
	}
	if err != nil {
		t.Fatal(err)
	}
	r.start(s, from, other)
	further := r.start(s, from, paid)
	if _, err := s.AbortAttempt(background, r.By, further.ID, ""); err != nil {
		t.Fatal(err)
	}
	if !r.Instrument(paid).Good() || r.Instrument(other).Good() {
		t.Errorf("paid: %+v, superseded: %+v", r.Instrument(paid), r.Instrument(other))
	}
	if p, err := r.PayAgain(s, paid); err != nil || p.Status() != payment.StatusAuthorized {
		t.Error(p.Status(), err)
	}
}

// TestStartCrashes: any effect of an attempt's start fails or takes effect, with and without the
// end of the process, while another node starts another attempt: the attempt that the session names
// can be approved, and no other (§2.5).
func TestStartCrashes(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	healthy := r.NewNode(t, time.Minute, nil)
	for i, e := range []string{"attempt.created", "attempt.aborted", "instrument.invalidated", "session.attempt_started"} {
		for j, w := range commandstest.AppendModes {
			if seedtest.Sampled() && (i+j)%3 > 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s %s", e, w), func(t *testing.T) {
				t.Parallel()
				r.with(t).startThrough(healthy.Service, commandstest.NewFault(e, w))
			})
		}
	}
}

// startThrough starts attempts with three cards in a session, the second of them on a node with a
// fault, and has all approved that there can be.
func (r *rig) startThrough(healthy *service.Service, f *commandstest.Fault) {
	r.T.Helper()
	from := r.Manual(healthy)
	var tokens []domain.Token
	for range 3 {
		tokens = append(tokens, r.TokenIn(healthy, from, commandstest.ApprovedCard))
	}
	r.start(healthy, from, tokens[0])
	n := r.NewNode(r.T, time.Minute, f)
	r.T.Cleanup(func() { commandstest.CloseOnce(f.Resume) })
	given := n.UntilFault(func() error {
		_, err := n.StartAttempt(background, r.By, approvals.AttemptInput{Session: from.ID, Token: tokens[1]})
		return err
	})
	if f.Mode.Ends() {
		n.Kill()
		<-given
	}
	r.start(healthy, from, tokens[2])
	if f.Mode == commandstest.Overtaken {
		commandstest.CloseOnce(f.Resume)
	}
	if !f.Mode.Ends() {
		<-given
	}
	r.approvesOne(healthy, from, tokens)
}

// approvesOne has every attempt approved that the tokens may have got: one pays.
func (r *rig) approvesOne(healthy *service.Service, from session.State, tokens []domain.Token) {
	r.T.Helper()
	named, err := healthy.Session(background, r.By.Account, from.ID)
	if err != nil {
		r.T.Fatal(err)
	}
	var pay []domain.AttemptID
	for number := range uint64(6) {
		for _, token := range tokens {
			id := domain.NewAttemptID(from.ID, token, nil, number)
			if !r.attempt(id).Exists() {
				continue
			}
			if r.attempt(id).Due() { // the crash of an abort
				if err := healthy.RecoverAttempt(background, r.By.Account, id); err != nil {
					r.T.Error(err)
				}
			}
			if _, err := healthy.ApproveAttempt(background, r.By, id); err == nil {
				pay = append(pay, id)
				r.consistent(id)
			} else {
				commandstest.Refused(r.T, err, domain.ReasonAttemptNotPending)
			}
		}
	}
	if !slices.Equal(pay, []domain.AttemptID{named.Attempt}) {
		r.T.Errorf("%v pay, the session names %s", pay, named.Attempt)
	}
}

// TestApprovalHeedsNoLaterVaulting checks that a token still pays if the merchant vaults it, for
// any customer, between an approval and its payment (D5, §3.3).
func TestApprovalHeedsNoLaterVaulting(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	healthy := r.NewNode(t, time.Minute, nil)
	for _, in := range []instruments.VaultInput{{CustomerID: "customer-9"}, {CustomerID: "customer-9", Verify: true}} {
		a := r.Asked(healthy.Service)
		r.Dies("instrument.used", commandstest.CrashBefore, func(n *commandstest.Node) error {
			_, err := n.ApproveAttempt(background, r.By, a.ID)
			return err
		})
		in.Token = a.Token
		if _, err := healthy.VaultInstrument(background, r.By, in); err != nil {
			t.Fatal(err)
		}
		r.Cleaned(healthy.Service)
		if err := healthy.RecoverAttempt(background, r.By.Account, a.ID); err != nil {
			t.Error("recovery:", err)
		}
		r.consistent(a.ID)
		if inst := r.Instrument(a.Token); !inst.Vaulted() || !inst.Good() || inst.CustomerID != "customer-9" {
			t.Errorf("%+v", inst)
		}
		from := session.State{ID: a.Session}
		_, err := healthy.StartAttempt(background, r.By, approvals.AttemptInput{Session: from.ID, Token: r.TokenIn(healthy.Service, from, commandstest.ApprovedCard)})
		commandstest.Refused(t, err, domain.ReasonPayment) // it is paid, once
	}
}

// TestApprovalThatCannotBePaid checks that an approval whose payment is refused for good ends as
// aborted, for all callers and after every crash. Its payment is never made, and the session
// accepts another attempt (§3.3).
func TestApprovalThatCannotBePaid(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	healthy := r.NewNode(t, time.Minute, nil)
	for i, e := range []string{"payment.key_claimed", "attempt.refused"} {
		for j, w := range commandstest.AppendModes {
			if seedtest.Sampled() && (i+j)%2 > 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s %s", e, w), func(t *testing.T) {
				t.Parallel()
				r := r.with(t)
				a, f := r.Impossible(healthy.Service), commandstest.NewFault(e, w)
				n := r.NewNode(t, time.Minute, f)
				given := n.UntilFault(func() error { return n.RecoverAttempt(background, r.By.Account, a.ID) })
				if w.Ends() {
					n.Kill()
				}
				if err := healthy.RecoverAttempt(background, r.By.Account, a.ID); err != nil {
					t.Error(err)
				}
				commandstest.CloseOnce(f.Resume)
				<-given
				if ended := r.attempt(a.ID); ended.Status(r.Now()) != attempt.Aborted || ended.Due() || ended.Reason == "" || ended.Payment != "" {
					t.Errorf("%+v", ended)
				}
				_, err := healthy.ApproveAttempt(background, r.By, a.ID)
				commandstest.Refused(t, err, domain.ReasonAttemptNotPending)
				if _, err := healthy.AbortAttempt(background, r.By, a.ID, ""); err != nil {
					t.Error(err)
				}
				if r.Payment(a.Payment).Exists() || r.Operations(a.Payment) != 0 || !r.Instrument(a.Token).Good() {
					t.Error("something came of it")
				}
				from := session.State{ID: a.Session}
				next := r.start(healthy.Service, from, r.TokenIn(healthy.Service, from, commandstest.ApprovedCard))
				if _, err := healthy.ApproveAttempt(background, r.By, next.ID); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
