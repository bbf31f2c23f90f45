package commands_test

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
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/secrets"
)

// ref names the card behind a token.
func (r *rig) ref(token domain.Token) secrets.CardRef {
	inst := r.Instrument(token)
	return secrets.CardRef{Account: inst.Account, Token: token, TokenizedAt: inst.CreatedAt}
}

// TestVaultedCard: the vaulted copy of a card has no CVV; the card as it was entered, with it,
// lasts until the first outcome, and is never sent again (D5, D12).
func TestVaultedCard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	token := r.Token(s)
	if _, err := s.VaultInstrument(background, r.By, instruments.VaultInput{Token: token, CustomerID: "customer-1"}); err != nil {
		t.Fatal(err)
	}
	vaulted := secrets.CardRef{Account: r.By.Account, Token: token}
	if card, err := r.Vault.Card(background, vaulted, r.Now()); err != nil || card.Number != commandstest.ApprovedCard || card.CVV != "" || card.CardholderName != "Ada Lovelace" {
		t.Fatalf("vaulted without its time: %v %+v", err, card.CVV)
	}
	if card, err := r.Vault.Card(background, r.ref(token), r.Now()); err != nil || card.CVV != "737" {
		t.Fatalf("before the first payment: %v", err)
	}
	for i, want := range []string{"MATCHED", "", ""} { // the simulator echoes it
		p, err := r.PayAgain(s, token)
		commandstest.HasStatus(t, p, err, payment.StatusAuthorized)
		if got := p.Risk; (want == "") != (got == nil || got.CVVResult == "" || got.CVVResult != "MATCHED") {
			t.Errorf("payment %d: %+v", i, got)
		}
	}
	r.Cleaned(s)
	if card, err := r.Vault.Card(background, r.ref(token), r.Now()); err != nil || card.CVV != "" {
		t.Errorf("after the outcome: %v", err)
	}
	r.Ahead.Store(int64(48 * time.Hour))
	p, err := r.PayAgain(s, token)
	commandstest.HasStatus(t, p, err, payment.StatusAuthorized)
	if _, err := s.DeleteInstrument(background, r.By, token); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Vault.Card(background, r.ref(token), r.Now()); !errors.Is(err, secrets.ErrGone) {
		t.Errorf("deleted: %v", err)
	}
}

// TestVerifiedCardForgetsItsCVV: a verification is an authorization: with its outcome the CVV ends,
// and with a refusal the whole card (D12).
func TestVerifiedCardForgetsItsCVV(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	good, bad := r.Token(s), r.TokenOf(s, "4000000000000002")
	if _, err := s.VaultInstrument(background, r.By, instruments.VaultInput{Token: good, CustomerID: "customer-1", Verify: true}); err != nil {
		t.Fatal(err)
	}
	_, err := s.VaultInstrument(background, r.By, instruments.VaultInput{Token: bad, CustomerID: "customer-1", Verify: true})
	commandstest.Refused(t, err, domain.ReasonFailedVerification)
	r.Cleaned(s)
	if card, err := r.Vault.Card(background, r.ref(good), r.Now()); err != nil || card.CVV != "" {
		t.Errorf("verified: %v, CVV of %d digits", err, len(card.CVV))
	}
	if _, err := r.Vault.Card(background, r.ref(bad), r.Now()); !errors.Is(err, secrets.ErrGone) {
		t.Errorf("not verified: %v", err)
	}
}

// TestDestroyedOnce checks that the destruction of a verified card, which asks whether the card is
// still needed, does not request the destruction again.
func TestDestroyedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	token := r.Token(s)
	if _, err := s.VaultInstrument(background, r.By, instruments.VaultInput{Token: token, CustomerID: "customer-1", Verify: true}); err != nil {
		t.Fatal(err)
	}
	s.Close() // nothing is destroyed any more
	before := len(s.Discarded())
	until, err := s.CardNeeded(background, r.By.Account, token, r.Now().Add(time.Hour))
	if err != nil || r.Now().Before(until) {
		t.Errorf("needed until %s, %v", until, err)
	}
	if after := len(s.Discarded()); after != before {
		t.Errorf("%d more to destroy", after-before)
	}
}

// TestWishToVault: the request's wish to vault the card overrides the session's, also a wish not to
// (D5.1).
func TestWishToVault(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	for _, c := range []struct {
		ofSession, ofRequest *bool
		vaulted              bool
	}{{nil, nil, false}, {nil, new(true), true}, {new(true), nil, true}, {new(true), new(false), false}, {new(false), new(true), true}} {
		from := r.Opened(s, session.Fields{CustomerID: "customer-1", Method: session.Method{VaultOnSuccess: c.ofSession}})
		token := r.TokenIn(s, from, commandstest.ApprovedCard)
		p, err := s.CreatePayment(background, r.By, payments.PaymentInput{Token: token, Method: session.Method{VaultOnSuccess: c.ofRequest}})
		commandstest.HasStatus(t, p, err, payment.StatusAuthorized)
		if got := r.Instrument(token).Vaulted(); got != c.vaulted {
			t.Errorf("%+v: vaulted %t", c, got)
		}
	}
}

// TestVaultingCrashes checks that an interrupted vaulting is completed: by the cleaner if a payment
// requested it, otherwise by the repeat (D5).
func TestVaultingCrashes(t *testing.T) {
	t.Parallel()
	give := map[string]func(*rig, *service.Service, domain.Token) error{
		"on success": func(r *rig, s *service.Service, token domain.Token) error {
			_, err := s.CreatePayment(background, r.By, payments.PaymentInput{
				Token: token, CustomerID: "customer-1", IdempotencyKey: string(token), Method: session.Method{VaultOnSuccess: new(true)},
			})
			return err
		},
		"by the merchant, verified": func(r *rig, s *service.Service, token domain.Token) error {
			_, err := s.VaultInstrument(background, r.By, instruments.VaultInput{Token: token, CustomerID: "customer-1", Verify: true})
			return err
		},
	}
	for name, effects := range map[string][]string{
		"on success":                {commandstest.Authorize, "payment.authorized", "instrument.vaulted"},
		"by the merchant, verified": {"instrument.verification_requested", commandstest.Authorize, "instrument.vaulted"},
	} {
		for i, e := range effects {
			for j, w := range []commandstest.FailureMode{commandstest.CrashBefore, commandstest.CrashAfter, commandstest.Twice} {
				if seedtest.Sampled() && (i+j)%3 > 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s: %s %s", name, e, w), func(t *testing.T) {
					t.Parallel()
					r := newCluster(t) // the cleaner sees to every card that it finds
					healthy := r.NewNode(t, time.Minute, nil)
					token := r.TokenOf(healthy.Service, commandstest.ApprovedCard)
					n := r.NewNode(t, time.Minute, commandstest.NewFault(e, w))
					given := n.UntilFault(func() error { return give[name](r, n.Service, token) })
					if w != commandstest.Twice {
						n.Kill()
					}
					<-given
					r.vaultedInTheEnd(healthy.Service, token, name == "on success", func() error { return give[name](r, healthy.Service, token) })
				})
			}
		}
	}
}

// vaultedInTheEnd recovers and repeats, and checks that the token has one card, one customer and
// one operation.
func (r *rig) vaultedInTheEnd(healthy *service.Service, token domain.Token, paid bool, again func() error) {
	r.T.Helper()
	reference := domain.VerificationReference(r.By.Account, token)
	if paid {
		reference = domain.PaymentIDForKey(r.By.Account, string(token))
		if err := healthy.Recover(background, r.By.Account, reference); err != nil {
			r.T.Fatal(err)
		}
		r.Settled(reference)
	}
	r.Cleaned(healthy)
	if err := again(); err != nil && domain.ReasonOf(err) != domain.ReasonIdempotencyKeyExists {
		r.T.Error("the repeat:", err)
	}
	inst := r.Instrument(token)
	card, err := r.Vault.Card(background, secrets.CardRef{Account: r.By.Account, Token: token}, r.Now())
	if err != nil || card.Number != commandstest.ApprovedCard || card.CVV != "" || inst.CustomerID != "customer-1" || inst.Type != instrument.MultiUse {
		r.T.Errorf("%+v: %v", inst, err)
	}
	if n := r.Operations(reference); n != 1 {
		r.T.Errorf("%d operations at the processor", n)
	}
	if p, err := r.PayAgain(healthy, token); err != nil || p.Status() != payment.StatusAuthorized {
		r.T.Errorf("paid again: %s %v", p.Status(), err)
	}
}

// TestCardNeeded: a card is needed as it was entered until the payment that its token made has its
// outcome.
func TestCardNeeded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	needed := func(when string, token domain.Token, want bool) {
		t.Helper()
		until, err := s.CardNeeded(background, r.By.Account, token, r.Now().Add(time.Hour))
		if got := r.Now().Before(until); err != nil || got != want {
			t.Errorf("%s: needed %t, %v", when, got, err)
		}
	}
	needed("before it is recorded", "01token1", true)
	token, pending, aborted := r.Token(s), r.TokenOf(s, "4000000000003220"), r.Asked(s)
	needed("unused", token, true)
	r.Claims(token, domain.PaymentIDForToken(r.By.Account, token))
	needed("claimed by a payment to come", token, true)
	for _, inst := range []domain.Token{token, pending} {
		if _, err := s.CreatePayment(background, r.By, payments.PaymentInput{Token: inst}); err != nil {
			t.Fatal(err)
		}
	}
	needed("once the outcome is known", token, false)
	needed("while the processor is at it", pending, true)
	needed("of a waiting attempt", aborted.Token, true)
	if _, err := s.AbortAttempt(background, r.By, aborted.ID, ""); err != nil {
		t.Fatal(err)
	}
	needed("of an aborted attempt", aborted.Token, false)
}
