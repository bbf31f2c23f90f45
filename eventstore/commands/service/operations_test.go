package service_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore/commands/payments"
	"payledger/processorsim/protocol"
)

var background = context.Background()

func amount(a domain.Amount) *domain.Amount { return &a }

// is fails the test unless the payment has the status.
func is(t *testing.T, p payment.State, err error, want payment.Status) {
	t.Helper()
	if err != nil || p.Status() != want {
		t.Fatalf("%s (%+v), want %s: %v", p.Status(), p.StatusReason(), want, err)
	}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
}

// refused fails the test unless err has the reason.
func refused(t *testing.T, err error, want domain.Reason) {
	t.Helper()
	if domain.ReasonOf(err) != want {
		t.Fatalf("%v, want %s", err, want)
	}
}

// until waits for the payment to get there.
func (r *rig) until(id domain.PaymentID, what string, reached func(payment.State) bool) payment.State {
	r.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond) // each look takes a turn among those who write
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); <-tick.C {
		if p := r.payment(id); reached(p) {
			return p
		}
	}
	r.t.Fatalf("payment %s never got to %s", id, what)
	return payment.State{}
}

// TestCaptures checks four captures: a partial capture, a final capture, a capture above the remaining amount, and a capture that fails at
// the processor (D7, D10).
func TestCaptures(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.service(nil)
	p := r.pay(s, approvedCard)
	is(t, p, nil, payment.StatusAuthorized)
	p, err := s.Capture(background, r.by, p.ID, payment.Capture{Amount: amount(1000), Metadata: domain.Metadata{"parcel": int64(1)}})
	is(t, p, err, payment.StatusPartiallySettled)
	if p.Captured() != 1000 || p.Metadata["parcel"] != int64(1) {
		t.Fatalf("%d captured, metadata %v", p.Captured(), p.Metadata)
	}
	_, err = s.Capture(background, r.by, p.ID, payment.Capture{Amount: amount(1501)})
	refused(t, err, domain.ReasonRequestValidation)
	if after := r.payment(p.ID); after.Revision != p.Revision+1 || after.Status() != payment.StatusPartiallySettled {
		t.Fatal("the refused attempt is not recorded")
	}
	p, err = s.Capture(background, r.by, p.ID, payment.Capture{Amount: amount(1200), Final: true})
	is(t, p, err, payment.StatusSettled)
	_, err = s.Capture(background, r.by, p.ID, payment.Capture{})
	refused(t, err, domain.ReasonInvalidPaymentStatus)

	failing := r.pay(s, "4000000000005142")
	failing, err = s.Capture(background, r.by, failing.ID, payment.Capture{Final: true})
	is(t, failing, err, payment.StatusSettling) // accepted, refused later
	r.settle()
	r.until(failing.ID, "a failed capture", func(p payment.State) bool {
		return p.Status() == payment.StatusAuthorized && p.Operations[1].State == payment.StateFailed
	})
}

// settle completes the pending operations at the processors.
func (r *rig) settle() {
	r.t.Helper()
	if _, err := r.sim.Settle(background); err != nil {
		r.t.Fatal(err)
	}
}

// TestCancels: before and after captures, refused by the processor, and of a settled payment (§3.1, D7).
func TestCancels(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.service(nil)
	cancel := func(id domain.PaymentID) (payment.State, error) {
		return s.Cancel(background, r.by, id, payment.Cancel{Reason: "changed their mind"})
	}
	p, err := cancel(r.pay(s, approvedCard).ID)
	is(t, p, err, payment.StatusCancelled)
	_, err = cancel(p.ID)
	refused(t, err, domain.ReasonInvalidPaymentStatus)

	p = r.pay(s, approvedCard)
	if _, err = s.Capture(background, r.by, p.ID, payment.Capture{Amount: amount(1)}); err != nil {
		t.Fatal(err)
	}
	p, err = cancel(p.ID)
	is(t, p, err, payment.StatusSettled) // the rest is released
	_, err = cancel(p.ID)
	refused(t, err, domain.ReasonInvalidPaymentStatus)
	if p = r.payment(p.ID); !p.VoidRefused() {
		t.Fatal("the processor was not asked about the settled payment")
	}
	p, err = cancel(r.pay(s, "4000000000005159").ID)
	is(t, p, err, payment.StatusAuthorized) // the processor refuses: an answer, not an error
	p, err = cancel(r.pay(s, "4000000000003220").ID)
	is(t, p, err, payment.StatusCancelled) // asynchronous: voided before it is approved
	p, err = cancel(r.pay(s, "4916994064252017").ID)
	is(t, p, err, payment.StatusCancelled) // waiting for its customer
}

// TestRefunds checks four refunds: of the whole payment, of one capture, above the remaining amount, and a refund that fails later (D10).
func TestRefunds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.service(nil)
	p := r.pay(s, approvedCard)
	_, err := s.Refund(background, r.by, p.ID, payment.Refund{})
	refused(t, err, domain.ReasonInvalidPaymentStatus)
	var captures []string
	for _, a := range []domain.Amount{1000, 500} {
		if p, err = s.Capture(background, r.by, p.ID, payment.Capture{Amount: amount(a)}); err != nil {
			t.Fatal(err)
		}
		captures = append(captures, p.Operations[len(p.Operations)-1].Answer().EventID)
	}
	_, err = s.Refund(background, r.by, p.ID, payment.Refund{TransactionEventID: captures[1], Amount: amount(501)})
	refused(t, err, domain.ReasonUnprocessableRefundAmount)
	p, err = s.Refund(background, r.by, p.ID, payment.Refund{TransactionEventID: captures[1], Reason: "broken"})
	is(t, p, err, payment.StatusPartiallySettled)
	if p.Refunded() != 500 {
		t.Fatalf("%d refunded", p.Refunded())
	}
	_, err = s.Refund(background, r.by, p.ID, payment.Refund{TransactionEventID: captures[1]})
	refused(t, err, domain.ReasonPaymentAlreadyRefunded)
	p, err = s.Refund(background, r.by, p.ID, payment.Refund{})
	is(t, p, err, payment.StatusPartiallySettled)
	_, err = s.Refund(background, r.by, p.ID, payment.Refund{Amount: amount(1)})
	refused(t, err, domain.ReasonPaymentAlreadyRefunded)
	if p.Refunded() != 1500 {
		t.Fatalf("%d refunded", p.Refunded())
	}

	p = r.pay(s, "4000000000005126")
	if _, err = s.Capture(background, r.by, p.ID, payment.Capture{Final: true}); err != nil {
		t.Fatal(err)
	}
	p, err = s.Refund(background, r.by, p.ID, payment.Refund{})
	is(t, p, err, payment.StatusSettled)
	r.settle()
	p = r.until(p.ID, "a failed refund", func(p payment.State) bool { return p.Operations[2].State == payment.StateFailed })
	if p.Refundable() != 2500 {
		t.Fatalf("%d refundable after the refund failed", p.Refundable())
	}
}

// TestAdjustments: a new total, and the same again (D10).
func TestAdjustments(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.service(nil)
	p := r.pay(s, approvedCard)
	p, err := s.Adjust(background, r.by, p.ID, payment.Adjust{Request: payment.Request{IdempotencyKey: "up"}, Amount: 3000})
	is(t, p, err, payment.StatusAuthorized)
	if p.Amount != 3000 {
		t.Fatalf("the total is %d", p.Amount)
	}
	again, err := s.Adjust(background, r.by, p.ID, payment.Adjust{Amount: 3000})
	if err != nil || again.Revision != p.Revision {
		t.Fatal("the same total changed something", err)
	}
	_, err = s.Adjust(background, r.by, p.ID, payment.Adjust{Request: payment.Request{IdempotencyKey: "up"}, Amount: 3100})
	refused(t, err, domain.ReasonIdempotencyKeyExists)
	_, err = s.Adjust(background, r.by, "01nobody", payment.Adjust{Amount: 3100})
	refused(t, err, domain.ReasonEntityNotFound)
	p, err = s.Capture(background, r.by, p.ID, payment.Capture{Final: true})
	is(t, p, err, payment.StatusSettled)
	if p.Captured() != 3000 {
		t.Fatalf("%d captured", p.Captured())
	}
}

// TestAction: the customer's action is completed, fails, or is abandoned (D6, D7).
func TestAction(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.service(nil)
	resume := func(p payment.State, outcome processor.Outcome) (payment.State, error) {
		action := p.RequiredAction()
		if action == nil || action.Name != "3DS_AUTHENTICATION" {
			t.Fatalf("action %+v", action)
		}
		return s.Resume(background, r.by, payments.ResumeInput{Payment: p.ID, Action: action.Revision, Outcome: outcome})
	}
	p := r.pay(s, "4916994064252017")
	is(t, p, nil, payment.StatusPending)
	_, err := s.Resume(background, r.by, payments.ResumeInput{Payment: p.ID})
	refused(t, err, domain.ReasonRequestValidation)
	p, err = resume(p, processor.Authenticated)
	is(t, p, err, payment.StatusAuthorized)
	_, err = s.Resume(background, r.by, payments.ResumeInput{Payment: p.ID, Action: 1, Outcome: processor.Authenticated})
	refused(t, err, domain.ReasonInvalidPaymentStatus)
	p, err = resume(r.pay(s, "4916994064252017"), processor.AuthenticationFailed)
	is(t, p, err, payment.StatusDeclined)

	abandoned := r.pay(s, "4916994064252017")
	if err := s.Recover(background, r.by.Account, abandoned.ID); err != nil || r.payment(abandoned.ID).Revision != abandoned.Revision {
		t.Fatal("given up too early", err)
	}
	r.ahead.Store(int64(time.Hour))
	if err := s.Recover(background, r.by.Account, abandoned.ID); err != nil {
		t.Fatal(err)
	}
	is(t, r.settled(abandoned.ID), nil, payment.StatusDeclined)
}

// TestFallback: a technical error moves on to the next processor; each try is an operation (D15).
func TestFallback(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.service(nil)
	p := r.pay(s, "4000000000005266")
	is(t, p, nil, payment.StatusAuthorized)
	if len(p.Operations) != 2 || p.Operations[1].Target.Processor != processor.Braintree || r.operations(p.ID) != 2 {
		t.Fatalf("%+v", p.Operations)
	}
	fault := protocol.Fault{Mode: protocol.TechnicalError, Operation: processor.Authorize}
	if err := r.sim.SetFault(background, fault); err != nil {
		t.Fatal(err)
	}
	p = r.pay(s, approvedCard)
	is(t, p, nil, payment.StatusFailed)
	if len(p.Operations) != len(processor.Names) {
		t.Fatalf("%d processors were tried", len(p.Operations))
	}
}

// TestAsynchronousAuthorization: resume waits with the payment, and says so when it takes too long (D8).
func TestAsynchronousAuthorization(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.service(nil)
	for try := 1; ; try++ {
		p := r.pay(s, "4000000000003220")
		is(t, p, nil, payment.StatusPending)
		resumed := make(chan error, 1)
		go func() {
			after, err := s.Resume(background, r.by, payments.ResumeInput{Payment: p.ID})
			if err == nil && after.Status() != payment.StatusAuthorized {
				err = errors.New(string(after.Status()))
			}
			resumed <- err
		}()
		r.settle()
		err := <-resumed
		if domain.ReasonOf(err) == domain.ReasonInvalidPaymentStatus && try < 5 {
			continue // the result was here before the resume
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
}

// TestKeyOfAnotherPayment checks that a key belongs to the first payment that it was sent for, in every call (D9).
func TestKeyOfAnotherPayment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.service(nil)
	one, two := r.pay(s, approvedCard), r.pay(s, approvedCard)
	one, err := s.Capture(background, r.by, one.ID, payment.Capture{Request: payment.Request{IdempotencyKey: "k"}, Amount: amount(10)})
	is(t, one, err, payment.StatusPartiallySettled)
	for name, call := range map[string]func() error{
		"capture of the other": func() error {
			_, err := s.Capture(background, r.by, two.ID, payment.Capture{Request: payment.Request{IdempotencyKey: "k"}})
			return err
		},
		"cancel of the same": func() error {
			_, err := s.Cancel(background, r.by, one.ID, payment.Cancel{Request: payment.Request{IdempotencyKey: "k"}})
			return err
		},
		"create": func() error {
			_, err := s.CreatePayment(background, r.by, payments.PaymentInput{Token: r.token(s), IdempotencyKey: "k"})
			return err
		},
	} {
		err := call()
		refused(t, err, domain.ReasonIdempotencyKeyExists)
		var e *domain.Error
		if errors.As(err, &e); e.Payment != one.ID || e.Status != string(payment.StatusPartiallySettled) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	made, err := s.CreatePayment(background, r.by, payments.PaymentInput{Token: r.token(s), IdempotencyKey: "made"})
	is(t, made, err, payment.StatusAuthorized)
	for _, id := range []domain.PaymentID{made.ID, two.ID} {
		_, err = s.Capture(background, r.by, id, payment.Capture{Request: payment.Request{IdempotencyKey: "made"}})
		refused(t, err, domain.ReasonIdempotencyKeyExists)
	}
	_, err = s.Capture(background, r.by, "01nobody", payment.Capture{Request: payment.Request{IdempotencyKey: "made"}})
	refused(t, err, domain.ReasonPayment)
}

// TestTokensRacingUnderOneKey: the token that lost the race under an idempotency key can still pay (D5, D9).
func TestTokensRacingUnderOneKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.service(nil)
	won, lost := r.token(s), r.token(s)
	p, err := s.CreatePayment(background, r.by, payments.PaymentInput{Token: won, IdempotencyKey: "race"})
	is(t, p, err, payment.StatusAuthorized)
	r.claim(lost, p.ID) // as the request that came second has done before it was refused
	p, err = s.CreatePayment(background, r.by, payments.PaymentInput{Token: lost, IdempotencyKey: "again"})
	is(t, p, err, payment.StatusAuthorized)
	_, err = s.CreatePayment(background, r.by, payments.PaymentInput{Token: won, IdempotencyKey: "third"})
	refused(t, err, domain.ReasonPayment)
}
