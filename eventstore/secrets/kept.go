package secrets

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/codec"
)

// kindKept is the kind of vaulted cards: kept-card.<account>.<token>. They have no CVV and no expiry.
const kindKept = "kept-card"

func (r CardRef) keptName() domain.SecretID {
	return domain.SecretID(strings.Join([]string{kindKept, string(r.Account), string(r.Token)}, "."))
}

// KeepCard copies an entered card, without its CVV, to a vaulted card, which stays until DestroyKept. The token may have
// expired since the vaulting was recorded. A repeat is safe. The error is ErrGone if the entered card no longer exists.
func (v *Store) KeepCard(ctx context.Context, ref CardRef) error {
	if kept, err := v.Kept(ctx, ref); kept || err != nil {
		return err
	}
	entered, err := v.enteredCard(ctx, ref)
	if errors.Is(err, ErrGone) { // another process may have copied and destroyed the card just now
		if kept, keptErr := v.Kept(ctx, ref); kept || keptErr != nil {
			return keptErr
		}
	}
	if err != nil {
		return err
	}
	card := entered.Card
	card.CVV = ""
	plain, err := codec.Marshal(card)
	if err != nil {
		return fmt.Errorf("secrets: card: %w", err)
	}
	if err := v.Create(ctx, ref.keptName(), plain); !errors.Is(err, eventstore.ErrConflict) { // another process copied the card
		return err
	}
	return nil
}

// keptCard returns a vaulted card, whose box it caches: a vaulted card pays again and again. ErrGone if there is none.
func (v *Store) keptCard(ctx context.Context, name domain.SecretID) (card processor.Card, err error) {
	if box, here := v.boxes.get(name, v.now()); here {
		if plain, err := v.ring.open(string(name), box); err == nil { // else a rotation of the master key has replaced the box
			return card, codec.Unmarshal(plain, &card)
		}
	}
	box, err := v.read(ctx, name)
	if err != nil {
		return card, err
	}
	plain, err := v.ring.open(string(name), box)
	if err != nil {
		return card, err
	}
	return card, errors.Join(remember(v, &v.boxes, name, box, nil), codec.Unmarshal(plain, &card))
}

// Kept reports whether the vaulted card exists.
func (v *Store) Kept(ctx context.Context, ref CardRef) (bool, error) {
	_, err := v.bytes.Get(ctx, string(ref.keptName()))
	if errors.Is(err, eventstore.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// DestroyKept overwrites a vaulted card. A repeat is safe.
func (v *Store) DestroyKept(ctx context.Context, ref CardRef) error {
	return v.Destroy(ctx, ref.keptName())
}
