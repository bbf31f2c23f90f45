package commands_test

import (
	"errors"
	"testing"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/eventstore/codec"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/secrets"
)

// TestSavedCardOfAnotherVersion: a node of the version before, which knows vaulted cards in clear
// only, refuses a card that is sealed under its customer's key, and does not read it as a card
// without a number. Cards that older versions stored are read. A stored card without a number is an
// error that does not end its token.
func TestSavedCardOfAnotherVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	token := r.EnteredIn(s, r.Opened(s, session.Fields{CustomerID: "zen"}), commandstest.ApprovedCard, true)
	ref := secrets.CardRef{Account: r.By.Account, Token: token} // of the vaulted card
	name := domain.SecretID("kept-card." + string(r.By.Account) + "." + string(token))
	stored, err := r.Vault.Get(background, name)
	if err != nil {
		t.Fatal(err)
	}
	if before := new(processor.Card); codec.Unmarshal(stored, before) == nil {
		t.Errorf("a node of the version before reads a card with %d digits", len(before.Number))
	}
	var sealed domain.Sealed
	if err := codec.Unmarshal(stored[1:], &sealed); err != nil {
		t.Fatal(err)
	}
	read := func(stored any) (processor.Card, error) {
		text, err := codec.Marshal(stored)
		if err := errors.Join(err, r.Vault.Destroy(background, name), r.Vault.Create(background, name, text)); err != nil {
			t.Fatal(err)
		}
		return r.Vault.Card(background, ref, r.Now())
	}
	for version, stored := range map[string]any{
		"in clear":                         processor.Card{Number: commandstest.ApprovedCard, ExpirationMonth: "03", ExpirationYear: "2099"},
		"sealed, before the mark was used": map[string]any{"sealed": sealed},
	} {
		if card, err := read(stored); err != nil || card.Number != commandstest.ApprovedCard {
			t.Errorf("%s: a card with %d digits, %v", version, len(card.Number), err)
		}
	}
	if _, err := read(processor.Card{ExpirationMonth: "03", ExpirationYear: "2099"}); err == nil || errors.Is(err, secrets.ErrGone) {
		t.Errorf("without a number: %v", err)
	}
	if err := r.Vault.DestroyKept(background, ref); err != nil {
		t.Errorf("a card without a number is not destroyed: %v", err)
	}
}
