package service_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/seedtest"
	"payledger/domain/session"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/secrets"
)

// ref names the card behind a token.
func (r *rig) ref(token domain.Token) secrets.CardRef {
	inst := r.instrument(token)
	return secrets.CardRef{Account: inst.Account, Token: token, TokenizedAt: inst.CreatedAt}
}

// payAgain pays with a vaulted token.
func (r *rig) payAgain(s *service.Service, token domain.Token) (payment.State, error) {
	return s.CreatePayment(background, r.by, payments.PaymentInput{
		Token: token, OrderID: "order-2", CustomerID: "customer-1", Currency: "EUR", Amount: amount(700),
	})
}

// cleaned runs the janitor late enough for every card of now.
func (r *rig) cleaned(s *service.Service) {
	r.t.Helper()
	_, err := r.vault.Clean(background, r.store.Now().Add(3*time.Minute), s.CardNeeded)
	if err != nil {
		r.t.Fatal(err)
	}
}

// TestVaultedCard: the vaulted copy of a card has no CVV; the card as it was entered, with it, lasts until the first
// outcome, and is never sent again (D5, D12).
func TestVaultedCard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.service(nil)
	token := r.token(s)
	if _, err := s.VaultInstrument(background, r.by, instruments.VaultInput{Token: token, CustomerID: "customer-1"}); err != nil {
		t.Fatal(err)
	}
	vaulted := secrets.CardRef{Account: r.by.Account, Token: token}
	if card, err := r.vault.Card(background, vaulted, r.now()); err != nil || card.Number != approvedCard || card.CVV != "" || card.CardholderName != "Ada Lovelace" {
		t.Fatalf("vaulted without its time: %v %+v", err, card.CVV)
	}
	if card, err := r.vault.Card(background, r.ref(token), r.now()); err != nil || card.CVV != "737" {
		t.Fatalf("before the first payment: %v", err)
	}
	for i, want := range []string{"MATCHED", "", ""} { // the simulator echoes it
		p, err := r.payAgain(s, token)
		is(t, p, err, payment.StatusAuthorized)
		if got := p.Risk; (want == "") != (got == nil || got.CVVResult == "" || got.CVVResult != "MATCHED") {
			t.Errorf("payment %d: %+v", i, got)
		}
	}
	r.cleaned(s)
	if card, err := r.vault.Card(background, r.ref(token), r.now()); err != nil || card.CVV != "" {
		t.Errorf("after the outcome: %v", err)
	}
	r.ahead.Store(int64(48 * time.Hour))
	p, err := r.payAgain(s, token)
	is(t, p, err, payment.StatusAuthorized)
	if _, err := s.DeleteInstrument(background, r.by, token); err != nil {
		t.Fatal(err)
	}
	if _, err := r.vault.Card(background, r.ref(token), r.now()); !errors.Is(err, secrets.ErrGone) {
		t.Errorf("deleted: %v", err)
	}
}

// TestVerifiedCardForgetsItsCVV: a verification is an authorization: with its outcome the CVV ends, and with a refusal
// the whole card (D12).
func TestVerifiedCardForgetsItsCVV(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.service(nil)
	good, bad := r.token(s), r.tokenOf(s, "4000000000000002")
	if _, err := s.VaultInstrument(background, r.by, instruments.VaultInput{Token: good, CustomerID: "customer-1", Verify: true}); err != nil {
		t.Fatal(err)
	}
	_, err := s.VaultInstrument(background, r.by, instruments.VaultInput{Token: bad, CustomerID: "customer-1", Verify: true})
	refused(t, err, domain.ReasonFailedVerification)
	r.cleaned(s)
	if card, err := r.vault.Card(background, r.ref(good), r.now()); err != nil || card.CVV != "" {
		t.Errorf("verified: %v, CVV of %d digits", err, len(card.CVV))
	}
	if _, err := r.vault.Card(background, r.ref(bad), r.now()); !errors.Is(err, secrets.ErrGone) {
		t.Errorf("not verified: %v", err)
	}
}

// TestDestroyedOnce checks that the destruction of a verified card, which asks whether the card is still needed, does not request the
// destruction again.
func TestDestroyedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.service(nil)
	token := r.token(s)
	if _, err := s.VaultInstrument(background, r.by, instruments.VaultInput{Token: token, CustomerID: "customer-1", Verify: true}); err != nil {
		t.Fatal(err)
	}
	s.Close() // nothing is destroyed any more
	before := len(s.Discarded())
	until, err := s.CardNeeded(background, r.by.Account, token, r.now().Add(time.Hour))
	if err != nil || r.now().Before(until) {
		t.Errorf("needed until %s, %v", until, err)
	}
	if after := len(s.Discarded()); after != before {
		t.Errorf("%d more to destroy", after-before)
	}
}

// TestVaultingCrashes checks that an interrupted vaulting is completed: by the janitor if a payment requested it, otherwise by the repeat
// (D5).
func TestVaultingCrashes(t *testing.T) {
	t.Parallel()
	give := map[string]func(*rig, *service.Service, domain.Token) error{
		"on success": func(r *rig, s *service.Service, token domain.Token) error {
			_, err := s.CreatePayment(background, r.by, payments.PaymentInput{
				Token: token, CustomerID: "customer-1", IdempotencyKey: string(token), Method: session.Method{VaultOnSuccess: true},
			})
			return err
		},
		"by the merchant, verified": func(r *rig, s *service.Service, token domain.Token) error {
			_, err := s.VaultInstrument(background, r.by, instruments.VaultInput{Token: token, CustomerID: "customer-1", Verify: true})
			return err
		},
	}
	for name, effects := range map[string][]string{
		"on success":                {authorize, "payment.authorized", "instrument.vaulted"},
		"by the merchant, verified": {"instrument.verification_requested", authorize, "instrument.vaulted"},
	} {
		for i, e := range effects {
			for j, w := range []failureMode{crashBefore, crashAfter, twice} {
				if seedtest.Sampled() && (i+j)%3 > 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s: %s %s", name, e, w), func(t *testing.T) {
					t.Parallel()
					r := newRigFor(t, false) // the janitor sees to every card that it finds
					healthy := r.newNode(t, time.Minute, nil)
					token := r.tokenOf(healthy.Service, approvedCard)
					n := r.newNode(t, time.Minute, newFault(effect{on: e}, w))
					given := n.untilFault(func() error { return give[name](r, n.Service, token) })
					if w != twice {
						n.kill()
					}
					<-given
					r.vaultedInTheEnd(healthy.Service, token, name == "on success", func() error { return give[name](r, healthy.Service, token) })
				})
			}
		}
	}
}

// vaultedInTheEnd recovers and repeats, and checks that the token has one card, one customer and one operation.
func (r *rig) vaultedInTheEnd(healthy *service.Service, token domain.Token, paid bool, again func() error) {
	r.t.Helper()
	reference := domain.VerificationReference(r.by.Account, token)
	if paid {
		reference = domain.PaymentIDForKey(r.by.Account, string(token))
		if err := healthy.Recover(background, r.by.Account, reference); err != nil {
			r.t.Fatal(err)
		}
		r.settled(reference)
	}
	r.cleaned(healthy)
	if err := again(); err != nil && domain.ReasonOf(err) != domain.ReasonIdempotencyKeyExists {
		r.t.Error("the repeat:", err)
	}
	inst := r.instrument(token)
	card, err := r.vault.Card(background, secrets.CardRef{Account: r.by.Account, Token: token}, r.now())
	if err != nil || card.Number != approvedCard || card.CVV != "" || inst.CustomerID != "customer-1" || inst.Type != instrument.MultiUse {
		r.t.Errorf("%+v: %v", inst, err)
	}
	if n := r.operations(reference); n != 1 {
		r.t.Errorf("%d operations at the processor", n)
	}
	if p, err := r.payAgain(healthy, token); err != nil || p.Status() != payment.StatusAuthorized {
		r.t.Errorf("paid again: %s %v", p.Status(), err)
	}
}

// TestCardNeeded: a card is needed as it was entered until the payment that its token made has its outcome.
func TestCardNeeded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.service(nil)
	needed := func(when string, token domain.Token, want bool) {
		t.Helper()
		until, err := s.CardNeeded(background, r.by.Account, token, r.now().Add(time.Hour))
		if got := r.now().Before(until); err != nil || got != want {
			t.Errorf("%s: needed %t, %v", when, got, err)
		}
	}
	needed("before it is recorded", "01token1", true)
	token, pending, aborted := r.token(s), r.tokenOf(s, "4000000000003220"), r.asked(s)
	needed("unused", token, true)
	r.claim(token, domain.PaymentIDForToken(r.by.Account, token))
	needed("claimed by a payment to come", token, true)
	for _, inst := range []domain.Token{token, pending} {
		if _, err := s.CreatePayment(background, r.by, payments.PaymentInput{Token: inst}); err != nil {
			t.Fatal(err)
		}
	}
	needed("once the outcome is known", token, false)
	needed("while the processor is at it", pending, true)
	needed("of a waiting attempt", aborted.Token, true)
	if _, err := s.AbortAttempt(background, r.by, aborted.ID, ""); err != nil {
		t.Fatal(err)
	}
	needed("of an aborted attempt", aborted.Token, false)
}
