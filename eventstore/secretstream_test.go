package eventstore_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
)

func testSecrets(t *testing.T, r *rig) {
	ctx := testContext(t)
	here, there := eventstoretest.Vault(t, r.store()), eventstoretest.Vault(t, r.other())
	name := secrets.CardName("acct", domain.Token(newKey().ID))
	card := processor.Card{Number: "4111111111111111", CVV: "123", ExpirationMonth: "12", ExpirationYear: "2030"}
	now := r.store().Now()
	if err := here.PutCard(ctx, name, card, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := there.PutCard(ctx, name, card, now.Add(time.Hour)); !errors.Is(err, eventstore.ErrConflict) {
		t.Errorf("a second card under one name: %v", err)
	}
	got, err := there.Card(ctx, name, now)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "card", got, card)
	if _, err := there.Card(ctx, name, now.Add(time.Hour)); !errors.Is(err, secrets.ErrGone) {
		t.Errorf("an expired card: %v", err)
	}
	swept, err := there.SweepCards(ctx, now, func(domain.AccountID, domain.Token) bool { return true })
	if err != nil || swept == 0 {
		t.Error(swept, err)
	}
	for range 2 { // destroying is safe to repeat
		if err := here.Destroy(ctx, name); err != nil {
			t.Error(err)
		}
	}
	if _, err := here.Card(ctx, name, now); !errors.Is(err, secrets.ErrGone) {
		t.Errorf("a destroyed card: %v", err)
	}
	testPersonal(t, r, here, there)
}

func testPersonal(t *testing.T, r *rig, here, there *secrets.Vault) {
	ctx := testContext(t)
	key := secrets.PersonalKeyName("acct", "customer "+newKey().ID, "")
	person := domain.Personal{CardholderName: "A. Person", Customer: &domain.Customer{Email: "a@example.com"}}
	sealed, err := here.Seal(ctx, key, person)
	if err != nil {
		t.Fatal(err)
	}
	again, err := there.Seal(ctx, key, person) // under the same key, not a second one
	if err != nil {
		t.Fatal(err)
	}
	for _, box := range []*domain.Sealed{sealed, again} {
		got, err := there.Open(ctx, box)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "personal data", got, person)
	}
	if err := there.Destroy(ctx, key); err != nil {
		t.Fatal(err)
	}
	erased, err := there.Open(ctx, sealed)
	if err != nil || !erased.Empty() {
		t.Errorf("after the key's destruction: %+v, %v", erased, err)
	}
	other, err := secrets.Open(ctx, r.store(), secrets.Key{9}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	wrong := secrets.CardName("acct", domain.Token(newKey().ID))
	if err := here.Create(ctx, wrong, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Get(ctx, wrong); !errors.Is(err, secrets.ErrSealed) {
		t.Errorf("another master key: %v", err)
	}
}
