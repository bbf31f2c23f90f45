package secrets

import (
	"context"
	"errors"

	"payledger/domain"
)

// textLabel is part of the additional data of a text's box, so that the box does not open as a
// Personal.
const textLabel = " text"

// SealText encrypts a text that may contain personal data, under one of the person's keys. Number 0
// is the first key, as in domain.Sealed. SealText creates no key: without a key, as after an
// erasure, the result is nil.
func (v *Store) SealText(ctx context.Context, key domain.SecretID, number uint64, text string) (*domain.Sealed, error) {
	k, err := v.personKey(ctx, key, number)
	if errors.Is(err, ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	box, err := k.seal(v.random, string(numbered(key, number))+textLabel, []byte(text))
	if err != nil {
		return nil, err
	}
	return &domain.Sealed{Key: key, KeyNumber: number, Box: box}, nil
}

// OpenText is the inverse of SealText. For an erased text, for nil and for a stale read the result
// is "".
func (v *Store) OpenText(ctx context.Context, s *domain.Sealed) (string, error) {
	plain, err := v.openSealed(ctx, s, textLabel)
	return string(plain), err
}
