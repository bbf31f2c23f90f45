package secrets

import (
	"context"
	"errors"

	"payledger/domain"
)

// textLabel binds a box to being a text, and no Personal.
const textLabel = " text"

// SealText encrypts a text that may tell of a person under one of the person's keys; number 0 is the first one, as in
// domain.Sealed. It makes no key: nil where there is none, as after an erasure.
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

// OpenText decrypts what SealText made; an erased text and nil open as "".
func (v *Store) OpenText(ctx context.Context, s *domain.Sealed) (string, error) {
	if s == nil {
		return "", nil
	}
	k, err := v.personKey(ctx, s.Key, s.KeyNumber)
	if errors.Is(err, ErrGone) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	plain, err := k.open(string(numbered(s.Key, s.KeyNumber))+textLabel, s.Box)
	if errors.Is(err, ErrGone) {
		err = nil
	}
	return string(plain), err
}
