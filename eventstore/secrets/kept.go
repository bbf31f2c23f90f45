package secrets

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/codec"
)

// kindKept is the kind of vaulted cards: kept-card.<account>.<token>. They have no CVV and no expiry.
const kindKept = "kept-card"

func (r CardRef) keptName() domain.SecretID {
	return domain.SecretID(strings.Join([]string{kindKept, string(r.Account), string(r.Token)}, "."))
}

// KeepCard copies a card that stands in the vault as it was entered, without its CVV, to where it stays until
// DestroyKept; whether its token has expired since it was vaulted does not count. It is safe to repeat; ErrGone when
// there is nothing left to copy.
func (v *Store) KeepCard(ctx context.Context, ref CardRef) error {
	if kept, err := v.Kept(ctx, ref); kept || err != nil {
		return err
	}
	entered, err := v.entered(ctx, ref)
	if errors.Is(err, ErrGone) { // somebody else may have copied it just now, and destroyed it
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
	err = v.Create(ctx, ref.keptName(), plain)
	if errors.Is(err, eventstore.ErrConflict) {
		err = nil // somebody else copied it
	}
	return err
}

// Kept reports whether the card is kept.
func (v *Store) Kept(ctx context.Context, ref CardRef) (bool, error) {
	_, err := v.bytes.Get(ctx, string(ref.keptName()))
	if errors.Is(err, eventstore.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// DestroyKept overwrites a vaulted card. It is safe to repeat.
func (v *Store) DestroyKept(ctx context.Context, ref CardRef) error {
	return v.Destroy(ctx, ref.keptName())
}
