package commands_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/session"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/secrets"
)

// TestUnusedCardsEndTogether: the cards of a session that nobody uses are destroyed with one
// overwrite after the end of its client token, however many there are. A card whose payment has no
// outcome yet is kept, and a card that has paid is overwritten at once.
func TestUnusedCardsEndTogether(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	count := r.Deletions()
	overwritten := func() int {
		n, _ := count()
		return n
	}
	from := r.Opened(s, session.Fields{CustomerID: "zen"})
	refs := map[domain.Token]secrets.CardRef{}
	enter := func(number string) domain.Token {
		token := r.TokenIn(s, from, number)
		refs[token] = r.ref(token)
		return token
	}
	waits, paid := enter(commandstest.ChallengeCard), enter(commandstest.ApprovedCard)
	for range 12 {
		enter(commandstest.ApprovedCard)
	}
	began := r.Now()
	readable := func() (n int) {
		for _, ref := range refs {
			card, err := r.Vault.Card(background, ref, began)
			if err != nil && !errors.Is(err, secrets.ErrGone) {
				t.Fatal(err)
			}
			if err == nil && card.CVV != "" {
				n++
			}
		}
		return n
	}
	r.Ahead.Store(int64(3 * time.Minute))
	r.cleaner(s) // all of them are needed after their minute
	if n := readable(); n != len(refs) {
		t.Fatalf("%d of %d cards are kept after their minute", n, len(refs))
	}
	overwritten()
	if p, err := s.CreatePayment(background, r.By, payments.PaymentInput{Token: waits}); err != nil || p.RequiredAction() == nil {
		t.Fatal(err)
	}
	if _, err := s.CreatePayment(background, r.By, payments.PaymentInput{Token: paid}); err != nil {
		t.Fatal(err)
	}
	r.Eventually("the card that has paid is overwritten", func() bool { return overwritten() == 1 })
	if n := readable(); n != len(refs)-1 {
		t.Errorf("%d of %d cards are left after a payment", n, len(refs))
	}
	r.Ahead.Store(int64(61 * time.Minute)) // the client token has just ended: the cards end with their minute
	r.cleaner(s)
	r.Ahead.Store(int64(64 * time.Minute))
	r.cleaner(s)
	if n := readable(); n != 1 {
		t.Errorf("%d cards are left, expected the card of the payment that waits", n)
	}
	if n := overwritten(); n != 1 {
		t.Errorf("%d values are overwritten for %d cards", n, len(refs))
	}
	for range 2 {
		r.cleaner(s)
	}
	if n := overwritten(); n != 0 || readable() != 1 {
		t.Errorf("a repeat overwrites %d values; %d cards are left", n, readable())
	}
	own := "late-card." + string(r.By.Account) + "." + string(waits)
	for name, want := range map[string]bool{
		"late-key." + strconv.FormatInt(from.ExpiresAt.Unix()/60, 10): false, own: false, own + ".own": true,
	} {
		if _, err := r.Vault.Get(background, domain.SecretID(name)); (err == nil) != want || err != nil && !errors.Is(err, secrets.ErrGone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.Ahead.Store(int64(100 * time.Hour)) // nobody waits for the payment any more
	r.cleaner(s)
	if n := readable(); n != 0 {
		t.Errorf("%d cards are left for ever", n)
	}
}
