package payments_test

import (
	"errors"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/payments"
	"payledger/processorsim/protocol"
)

// TestCaptures checks four captures: a partial capture, a final capture, a capture above the
// remaining amount, and a capture that fails at the processor (D7, D10).
func TestCaptures(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	p := r.Pay(s, commandstest.ApprovedCard)
	commandstest.HasStatus(t, p, nil, payment.StatusAuthorized)
	p, err := s.Capture(background, r.By, p.ID, payment.Capture{Amount: commandstest.Amount(1000), Metadata: domain.Metadata{"parcel": int64(1)}})
	commandstest.HasStatus(t, p, err, payment.StatusPartiallySettled)
	if p.Captured() != 1000 || p.Metadata["parcel"] != int64(1) {
		t.Fatalf("%d captured, metadata %v", p.Captured(), p.Metadata)
	}
	_, err = s.Capture(background, r.By, p.ID, payment.Capture{Amount: commandstest.Amount(1501)})
	commandstest.Refused(t, err, domain.ReasonRequestValidation)
	if after := r.Payment(p.ID); after.Revision != p.Revision+1 || after.Status() != payment.StatusPartiallySettled {
		t.Fatal("the refused attempt is not recorded")
	}
	p, err = s.Capture(background, r.By, p.ID, payment.Capture{Amount: commandstest.Amount(1200), Final: true})
	commandstest.HasStatus(t, p, err, payment.StatusSettled)
	_, err = s.Capture(background, r.By, p.ID, payment.Capture{})
	commandstest.Refused(t, err, domain.ReasonInvalidPaymentStatus)

	failing := r.Pay(s, "4000000000005142")
	failing, err = s.Capture(background, r.By, failing.ID, payment.Capture{Final: true})
	commandstest.HasStatus(t, failing, err, payment.StatusSettling) // accepted, refused later
	r.Settle()
	r.Until(failing.ID, "a failed capture", func(p payment.State) bool {
		return p.Status() == payment.StatusAuthorized && p.Operations[1].State == payment.StateFailed
	})
}

// TestCancels: before and after captures, refused by the processor, and of a settled payment (§3.1,
// D7).
func TestCancels(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	cancel := func(id domain.PaymentID) (payment.State, error) {
		return s.Cancel(background, r.By, id, payment.Cancel{Reason: "changed their mind"})
	}
	p, err := cancel(r.Pay(s, commandstest.ApprovedCard).ID)
	commandstest.HasStatus(t, p, err, payment.StatusCancelled)
	_, err = cancel(p.ID)
	commandstest.Refused(t, err, domain.ReasonInvalidPaymentStatus)

	p = r.Pay(s, commandstest.ApprovedCard)
	if _, err = s.Capture(background, r.By, p.ID, payment.Capture{Amount: commandstest.Amount(1)}); err != nil {
		t.Fatal(err)
	}
	p, err = cancel(p.ID)
	commandstest.HasStatus(t, p, err, payment.StatusSettled) // the rest is released
	_, err = cancel(p.ID)
	commandstest.Refused(t, err, domain.ReasonInvalidPaymentStatus)
	if p = r.Payment(p.ID); !p.VoidRefused() {
		t.Fatal("the processor was not asked about the settled payment")
	}
	p, err = cancel(r.Pay(s, "4000000000005159").ID)
	commandstest.HasStatus(t, p, err, payment.StatusAuthorized) // the processor refuses: an answer, not an error
	p, err = cancel(r.Pay(s, "4000000000003220").ID)
	commandstest.HasStatus(t, p, err, payment.StatusCancelled) // asynchronous: voided before it is approved
	p, err = cancel(r.Pay(s, "4916994064252017").ID)
	commandstest.HasStatus(t, p, err, payment.StatusCancelled) // waiting for its customer
}

// TestRefunds checks four refunds: of the whole payment, of one capture, above the remaining
// amount, and a refund that fails later (D10).
func TestRefunds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	p := r.Pay(s, commandstest.ApprovedCard)
	_, err := s.Refund(background, r.By, p.ID, payment.Refund{})
	commandstest.Refused(t, err, domain.ReasonInvalidPaymentStatus)
	var captures []string
	for _, a := range []domain.Amount{1000, 500} {
		if p, err = s.Capture(background, r.By, p.ID, payment.Capture{Amount: commandstest.Amount(a)}); err != nil {
			t.Fatal(err)
		}
		captures = append(captures, p.Operations[len(p.Operations)-1].Answer().EventID)
	}
	_, err = s.Refund(background, r.By, p.ID, payment.Refund{TransactionEventID: captures[1], Amount: commandstest.Amount(501)})
	commandstest.Refused(t, err, domain.ReasonUnprocessableRefundAmount)
	p, err = s.Refund(background, r.By, p.ID, payment.Refund{TransactionEventID: captures[1], Reason: "broken"})
	commandstest.HasStatus(t, p, err, payment.StatusPartiallySettled)
	if p.Refunded() != 500 {
		t.Fatalf("%d refunded", p.Refunded())
	}
	_, err = s.Refund(background, r.By, p.ID, payment.Refund{TransactionEventID: captures[1]})
	commandstest.Refused(t, err, domain.ReasonUnprocessableRefundAmount) // another capture is left
	p, err = s.Refund(background, r.By, p.ID, payment.Refund{})
	commandstest.HasStatus(t, p, err, payment.StatusPartiallySettled)
	_, err = s.Refund(background, r.By, p.ID, payment.Refund{Amount: commandstest.Amount(1)})
	commandstest.Refused(t, err, domain.ReasonPaymentAlreadyRefunded)
	if p.Refunded() != 1500 {
		t.Fatalf("%d refunded", p.Refunded())
	}

	p = r.Pay(s, "4000000000005126")
	if _, err = s.Capture(background, r.By, p.ID, payment.Capture{Final: true}); err != nil {
		t.Fatal(err)
	}
	p, err = s.Refund(background, r.By, p.ID, payment.Refund{})
	commandstest.HasStatus(t, p, err, payment.StatusSettled)
	r.Settle()
	p = r.Until(p.ID, "a failed refund", func(p payment.State) bool { return p.Operations[2].State == payment.StateFailed })
	if p.Refundable() != 2500 {
		t.Fatalf("%d refundable after the refund failed", p.Refundable())
	}
}

// TestAdjustments: a new total, and the same again (D10).
func TestAdjustments(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	p := r.Pay(s, commandstest.ApprovedCard)
	p, err := s.Adjust(background, r.By, p.ID, payment.Adjust{Request: payment.Request{IdempotencyKey: "up"}, Amount: 3000})
	commandstest.HasStatus(t, p, err, payment.StatusAuthorized)
	if p.Amount != 3000 {
		t.Fatalf("the total is %d", p.Amount)
	}
	again, err := s.Adjust(background, r.By, p.ID, payment.Adjust{Amount: 3000})
	if err != nil || again.Revision != p.Revision {
		t.Fatal("the same total changed something", err)
	}
	_, err = s.Adjust(background, r.By, p.ID, payment.Adjust{Request: payment.Request{IdempotencyKey: "up"}, Amount: 3100})
	commandstest.Refused(t, err, domain.ReasonIdempotencyKeyExists)
	_, err = s.Adjust(background, r.By, "01nobody", payment.Adjust{Amount: 3100})
	commandstest.Refused(t, err, domain.ReasonEntityNotFound)
	p, err = s.Capture(background, r.By, p.ID, payment.Capture{Final: true})
	commandstest.HasStatus(t, p, err, payment.StatusSettled)
	if p.Captured() != 3000 {
		t.Fatalf("%d captured", p.Captured())
	}
}

// TestAction: the customer's action is completed, fails, or is abandoned (D6, D7).
func TestAction(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	resume := func(p payment.State, outcome processor.Outcome) (payment.State, error) {
		action := p.RequiredAction()
		if action == nil || action.Name != "3DS_AUTHENTICATION" {
			t.Fatalf("action %+v", action)
		}
		return s.Resume(background, r.By, payments.ResumeInput{Payment: p.ID, Action: action.Revision, Outcome: outcome})
	}
	p := r.Pay(s, "4916994064252017")
	commandstest.HasStatus(t, p, nil, payment.StatusPending)
	_, err := s.Resume(background, r.By, payments.ResumeInput{Payment: p.ID})
	commandstest.Refused(t, err, domain.ReasonRequestValidation)
	p, err = resume(p, processor.Authenticated)
	commandstest.HasStatus(t, p, err, payment.StatusAuthorized)
	_, err = s.Resume(background, r.By, payments.ResumeInput{Payment: p.ID, Action: 1, Outcome: processor.Authenticated})
	commandstest.Refused(t, err, domain.ReasonInvalidPaymentStatus)
	p, err = resume(r.Pay(s, "4916994064252017"), processor.AuthenticationFailed)
	commandstest.HasStatus(t, p, err, payment.StatusDeclined)

	abandoned := r.Pay(s, "4916994064252017")
	if err := s.Recover(background, r.By.Account, abandoned.ID); err != nil || r.Payment(abandoned.ID).Revision != abandoned.Revision {
		t.Fatal("given up too early", err)
	}
	r.Ahead.Store(int64(time.Hour))
	if err := s.Recover(background, r.By.Account, abandoned.ID); err != nil {
		t.Fatal(err)
	}
	commandstest.HasStatus(t, r.Settled(abandoned.ID), nil, payment.StatusDeclined)
}

// TestFallback: a technical error moves on to the next processor; each try is an operation (D15).
func TestFallback(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	p := r.Pay(s, "4000000000005266")
	commandstest.HasStatus(t, p, nil, payment.StatusAuthorized)
	if len(p.Operations) != 2 || p.Operations[1].Target.Processor != processor.Braintree || r.Operations(p.ID) != 2 {
		t.Fatalf("%+v", p.Operations)
	}
	fault := protocol.Fault{Mode: protocol.TechnicalError, Operation: processor.Authorize}
	if err := r.Sim.SetFault(background, fault); err != nil {
		t.Fatal(err)
	}
	p = r.Pay(s, commandstest.ApprovedCard)
	commandstest.HasStatus(t, p, nil, payment.StatusFailed)
	if len(p.Operations) != len(processor.Names) {
		t.Fatalf("%d processors were tried", len(p.Operations))
	}
}

// TestAsynchronousAuthorization: resume waits with the payment, and says so when it takes too long
// (D8).
func TestAsynchronousAuthorization(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	for try := 1; ; try++ {
		p := r.Pay(s, "4000000000003220")
		commandstest.HasStatus(t, p, nil, payment.StatusPending)
		resumed := make(chan error, 1)
		go func() {
			after, err := s.Resume(background, r.By, payments.ResumeInput{Payment: p.ID})
			if err == nil && after.Status() != payment.StatusAuthorized {
				err = errors.New(string(after.Status()))
			}
			resumed <- err
		}()
		r.Settle()
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

// TestKeyOfAnotherPayment checks that a key belongs to the first payment that it was sent for, in
// every call (D9).
func TestKeyOfAnotherPayment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	one, two := r.Pay(s, commandstest.ApprovedCard), r.Pay(s, commandstest.ApprovedCard)
	one, err := s.Capture(background, r.By, one.ID, payment.Capture{Request: payment.Request{IdempotencyKey: "k"}, Amount: commandstest.Amount(10)})
	commandstest.HasStatus(t, one, err, payment.StatusPartiallySettled)
	for name, call := range map[string]func() error{
		"capture of the other": func() error {
			_, err := s.Capture(background, r.By, two.ID, payment.Capture{Request: payment.Request{IdempotencyKey: "k"}})
			return err
		},
		"cancel of the same": func() error {
			_, err := s.Cancel(background, r.By, one.ID, payment.Cancel{Request: payment.Request{IdempotencyKey: "k"}})
			return err
		},
		"create": func() error {
			_, err := s.CreatePayment(background, r.By, payments.PaymentInput{Token: r.Token(s), IdempotencyKey: "k"})
			return err
		},
	} {
		err := call()
		commandstest.Refused(t, err, domain.ReasonIdempotencyKeyExists)
		var e *domain.Error
		if errors.As(err, &e); e.Payment != one.ID || e.Status != string(payment.StatusPartiallySettled) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	made, err := s.CreatePayment(background, r.By, payments.PaymentInput{Token: r.Token(s), IdempotencyKey: "made"})
	commandstest.HasStatus(t, made, err, payment.StatusAuthorized)
	for _, id := range []domain.PaymentID{made.ID, two.ID} {
		_, err = s.Capture(background, r.By, id, payment.Capture{Request: payment.Request{IdempotencyKey: "made"}})
		commandstest.Refused(t, err, domain.ReasonIdempotencyKeyExists)
	}
	_, err = s.Capture(background, r.By, "01nobody", payment.Capture{Request: payment.Request{IdempotencyKey: "made"}})
	commandstest.Refused(t, err, domain.ReasonPayment)
}

// TestTokensRacingUnderOneKey: the token that lost the race under an idempotency key can still pay
// (D5, D9).
func TestTokensRacingUnderOneKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	won, lost := r.Token(s), r.Token(s)
	p, err := s.CreatePayment(background, r.By, payments.PaymentInput{Token: won, IdempotencyKey: "race"})
	commandstest.HasStatus(t, p, err, payment.StatusAuthorized)
	r.Claims(lost, p.ID) // as the request that came second has done before it was refused
	expires := r.Now().Add(time.Hour)
	for token, until := range map[domain.Token]time.Time{lost: expires, won: {}} {
		if needed, err := s.CardNeeded(background, r.By.Account, token, expires); err != nil || !needed.Equal(until) {
			t.Errorf("the card is needed until %s, expected %s: %v", needed, until, err)
		}
	}
	p, err = s.CreatePayment(background, r.By, payments.PaymentInput{Token: lost, IdempotencyKey: "again"})
	commandstest.HasStatus(t, p, err, payment.StatusAuthorized)
	_, err = s.CreatePayment(background, r.By, payments.PaymentInput{Token: won, IdempotencyKey: "third"})
	commandstest.Refused(t, err, domain.ReasonPayment)
}
