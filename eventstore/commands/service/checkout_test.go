package service_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/seedtest"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/service"
)

// tab pays in the browser.
func (r *rig) tab(s *service.Service, from session.State, token domain.Token) (payment.State, error) {
	return s.CreatePayment(background, r.by, payments.PaymentInput{Token: token, Session: from.ID})
}

// paidOnce fails the test unless the tokens have exactly one payment, and returns it. Every refusal must be a PaymentError, and a refusal
// that names a payment must name this one.
func (r *rig) paidOnce(tokens []domain.Token, refusals ...error) payment.State {
	r.t.Helper()
	var made []payment.State
	for _, token := range tokens {
		id := domain.PaymentIDForToken(r.by.Account, token)
		if !r.payment(id).Exists() {
			if n := r.operations(id); n != 0 {
				r.t.Errorf("%d operations of no payment", n)
			}
			continue
		}
		if p := r.settled(id); !p.EndedUnpaid() {
			made = append(made, p)
			r.audit(id)
		}
	}
	if len(made) != 1 {
		r.t.Fatalf("%d payments of one session", len(made))
	}
	for _, err := range refusals {
		var e *domain.Error
		if err == nil {
			continue
		}
		if !errors.As(err, &e) || e.Reason != domain.ReasonPayment || e.Payment != "" && e.Payment != made[0].ID {
			r.t.Errorf("paid %s; refused %v, naming %s", made[0].ID, err, e.Payment)
		}
	}
	return made[0]
}

// TestTwoTabs: two tabs of a session pay with two cards. Any effect of one payment fails or takes effect, with and
// without the end of its process, while another node receives the other payment: one of them is created, and the
// session does not stay without (D12, §2.2).
func TestTwoTabs(t *testing.T) {
	t.Parallel()
	r := newRigFor(t, false)
	healthy := r.newNode(t, time.Minute, nil)
	for i, e := range []string{"session.payment_started", "instrument.used", "payment.created", authorize, "payment.authorized"} {
		for j, w := range []failureMode{refuses, twice, crashBefore, crashAfter, overtaken} {
			if e == authorize && w == refuses || seedtest.Sampled() && (i+j)%3 > 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s %s", e, w), func(t *testing.T) {
				t.Parallel()
				r.with(t).tabsThrough(healthy.Service, newFault(effect{on: e}, w))
			})
		}
	}
}

func (r *rig) tabsThrough(healthy *service.Service, f *fault) {
	r.t.Helper()
	from := r.opened(healthy, session.Fields{})
	tokens := []domain.Token{r.tokenIn(healthy, from, approvedCard), r.tokenIn(healthy, from, approvedCard)}
	n := r.newNode(r.t, time.Minute, f)
	r.t.Cleanup(func() { closeOnce(f.resume) })
	given := n.untilFault(func() error { _, err := r.tab(n.Service, from, tokens[0]); return err })
	if f.mode == crashBefore || f.mode == crashAfter {
		n.kill()
		<-given
	}
	_, second := r.tab(healthy, from, tokens[1])
	closeOnce(f.resume)
	var first error
	if f.mode != crashBefore && f.mode != crashAfter {
		if first = <-given; domain.ReasonOf(first) == domain.ReasonServiceUnavailable && f.mode == refuses {
			first = nil // and the other one is made
		}
	}
	id := domain.PaymentIDForToken(r.by.Account, tokens[0])
	if err := healthy.Recover(background, r.by.Account, id); err != nil {
		r.t.Fatal(err)
	}
	paid := r.paidOnce(tokens, first, second)
	for _, token := range tokens { // the repeats
		_, err := r.tab(healthy, from, token)
		var e *domain.Error
		if !errors.As(err, &e) || e.Reason != domain.ReasonPayment || e.Payment != paid.ID {
			r.t.Errorf("the repeat: %v", err)
		}
	}
	r.paidOnce(tokens)
}

// TestGivenUpForAnother makes a payment on one node while another node gives it up. The first of the two counts.
func TestGivenUpForAnother(t *testing.T) {
	t.Parallel()
	r := newRigFor(t, false)
	healthy := r.newNode(t, time.Minute, nil)
	for _, w := range []failureMode{refuses, twice, crashBefore, crashAfter, overtaken} {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			r := r.with(t)
			from := r.opened(healthy.Service, session.Fields{})
			tokens := []domain.Token{r.tokenIn(healthy.Service, from, approvedCard), r.tokenIn(healthy.Service, from, approvedCard), r.tokenIn(healthy.Service, from, approvedCard)}
			r.dies("payment.created", crashBefore, func(n *node) error { _, err := r.tab(n.Service, from, tokens[0]); return err })
			f := newFault(effect{on: "payment.key_claimed"}, w)
			n := r.newNode(t, time.Minute, f)
			given := n.untilFault(func() error { _, err := r.tab(n.Service, from, tokens[1]); return err })
			if w == crashBefore || w == crashAfter {
				n.kill()
			}
			_, first := r.tab(healthy.Service, from, tokens[0]) // its repeat
			closeOnce(f.resume)
			second := <-given
			if w == crashBefore || w == crashAfter || w == refuses {
				second = nil
			}
			_, third := r.tab(healthy.Service, from, tokens[2])
			r.paidOnce(tokens, first, second, third)
		})
	}
}

// TestManyTabs: tabs on two nodes pay one session at the same moment, with cards of which some are declined: one payment
// lives (D12).
func TestManyTabs(t *testing.T) {
	t.Parallel()
	r := newRigFor(t, false)
	nodes := r.twoNodes()
	const sessions, tabs = 6, 6
	var all sync.WaitGroup
	for range sessions {
		from := r.opened(nodes[0].Service, session.Fields{})
		tokens, errs := make([]domain.Token, tabs), make([]error, tabs)
		for i := range tokens {
			tokens[i] = r.tokenIn(nodes[0].Service, from, []string{approvedCard, approvedCard, "4000000000000002"}[i%3])
		}
		all.Go(func() {
			var clicks sync.WaitGroup
			for i, token := range tokens {
				clicks.Go(func() { _, errs[i] = r.tab(nodes[i%2].Service, from, token) })
			}
			clicks.Wait()
			last := r.tokenIn(nodes[0].Service, from, approvedCard)
			_, err := r.tab(nodes[1].Service, from, last)
			for i, err := range errs {
				if err != nil && domain.ReasonOf(err) != domain.ReasonPayment {
					r.t.Errorf("tab %d: %v", i, err)
				}
			}
			r.paidOnce(append(tokens, last), err)
		})
	}
	all.Wait()
}

// TestRepeatAfterVaulting: the repeat of a browser's payment that vaulted its token, so that it may pay again, does not (D5, D12).
func TestRepeatAfterVaulting(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.service(nil)
	from := r.opened(s, session.Fields{CustomerID: "customer-1", Method: session.Method{VaultOnSuccess: true}})
	token := r.tokenIn(s, from, approvedCard)
	paid, err := r.tab(s, from, token)
	is(t, paid, err, payment.StatusAuthorized)
	_, err = r.tab(s, from, token)
	var e *domain.Error
	if !r.instrument(token).Vaulted() || !errors.As(err, &e) || e.Payment != paid.ID {
		t.Errorf("%+v: %v", r.instrument(token), err)
	}
}

// TestReplicaBehind: a payment that is first decided on a replica that lags behind the token, or its vaulting, has the
// id of its repeat (D12).
func TestReplicaBehind(t *testing.T) {
	t.Parallel()
	r := newRigFor(t, false)
	n := r.newNode(t, time.Minute, nil)
	from := r.opened(n.Service, session.Fields{CustomerID: "customer-1"})
	behind := r.newNodeOn(t, &faultyConn{behind: true}, time.Minute)
	token := r.enteredIn(n.Service, from, approvedCard, true)
	tip, err := eventstore.NewRepositories(behind.store).Instruments.Load(background, r.by.Account, token, eventstore.AllowStale)
	if err != nil || tip.Recorded != nil {
		t.Fatalf("the node is not behind: %+v, %v", tip, err)
	}
	paid, err := r.tab(behind.Service, from, token)
	is(t, paid, err, payment.StatusAuthorized)
	_, err = r.tab(n.Service, from, token)
	var e *domain.Error
	if paid.ID != domain.PaymentIDForSession(r.by.Account, from.ID, token) || !errors.As(err, &e) || e.Payment != paid.ID {
		t.Errorf("%s, then %v", paid.ID, err)
	}
}
