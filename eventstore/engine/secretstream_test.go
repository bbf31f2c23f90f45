package engine_test

import (
	"context"
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

func testSecrets(t testing.TB, r *rig) {
	ctx := testContext(t)
	here, there := eventstoretest.Secrets(t, r.store()), eventstoretest.Secrets(t, r.other())
	card := processor.Card{Number: "4111111111111111", CVV: "123", ExpirationMonth: "12", ExpirationYear: "2030"}
	now := r.store().Now()
	name := secrets.CardRef{Account: "acct", Token: domain.Token(newKey().ID), TokenizedAt: now}
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
	later := now.Add(3 * time.Minute) // its epoch is over
	needed := func(answer bool) secrets.Needed {
		return func(_ context.Context, _ domain.AccountID, _ domain.Token, expires time.Time) (time.Time, error) {
			return map[bool]time.Time{true: expires}[answer], nil
		}
	}
	if n, err := eventstoretest.CleanCards(ctx, there, later, needed(true)); err != nil || n != 0 {
		t.Error("a card that is needed was destroyed:", n, err)
	}
	if got, err = here.Card(ctx, name, later); err != nil {
		t.Error("a card that is needed is gone with its epoch:", err)
	}
	same(t, "kept card", got, card)
	if n, err := eventstoretest.CleanCards(ctx, there, later, needed(false)); err != nil || n != 1 {
		t.Error("a card that nobody needs was not destroyed:", n, err)
	}
	if err := here.DestroyCard(ctx, name, later, needed(false)); err != nil { // safe to repeat
		t.Error(err)
	}
	if _, err := here.Card(ctx, name, now); !errors.Is(err, secrets.ErrGone) {
		t.Errorf("a destroyed card: %v", err)
	}
	testUnjudgedCard(t, r, here)
	testPersonal(t, r, here, there)
}

// testUnjudgedCard: a card that cannot be judged, because the shard of its token is damaged, stays,
// and keeps no other card.
func testUnjudgedCard(t testing.TB, r *rig, vault *secrets.Store) {
	t.Helper()
	ctx, now := testContext(t), r.store().Now()
	damage := errors.New("the shard is damaged")
	var names []secrets.CardRef
	for range 2 {
		name := secrets.CardRef{Account: "acct", Token: domain.Token(newKey().ID), TokenizedAt: now}
		if err := vault.PutCard(ctx, name, processor.Card{Number: "4111111111111111", CVV: "123"}, now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	judge := func(_ context.Context, _ domain.AccountID, token domain.Token, _ time.Time) (time.Time, error) {
		if token == names[0].Token {
			return time.Time{}, damage
		}
		return time.Time{}, nil
	}
	for _, later := range []time.Duration{3 * time.Minute, 2 * time.Hour, 3 * time.Hour} {
		if _, err := eventstoretest.CleanCards(ctx, vault, now.Add(later), judge); !errors.Is(err, damage) {
			t.Errorf("after %s: %v", later, err)
		}
		if _, err := vault.Card(ctx, names[0], now); err != nil {
			t.Errorf("after %s the card that cannot be judged: %v", later, err)
		}
		if _, err := vault.Card(ctx, names[1], now); !errors.Is(err, secrets.ErrGone) {
			t.Errorf("after %s the other card: %v", later, err)
		}
	}
	if _, err := eventstoretest.CleanCards(ctx, vault, now.Add(4*time.Hour), func(context.Context, domain.AccountID, domain.Token, time.Time) (time.Time, error) {
		return time.Time{}, nil
	}); err != nil {
		t.Error(err)
	}
	if _, err := vault.Card(ctx, names[0], now); !errors.Is(err, secrets.ErrGone) {
		t.Errorf("a card that can be judged again: %v", err)
	}
}

func testPersonal(t testing.TB, r *rig, here, there *secrets.Store) {
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
	wrong := secrets.PersonalKeyName("acct", "customer "+newKey().ID, "")
	if err := here.Create(ctx, wrong, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Get(ctx, wrong); !errors.Is(err, secrets.ErrSealed) {
		t.Errorf("another master key: %v", err)
	}
}
