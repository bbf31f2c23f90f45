package secrets

import (
	"context"
	"errors"

	"payledger/domain"
)

// textLabel binds a box to being a text, and no Personal.
const textLabel = " text"

// SealText encrypts a text that may tell of a person under the named key. It makes no key: nil where there is none, as after
// an erasure.
func (v *Store) SealText(ctx context.Context, key domain.SecretID, text string) (*domain.Sealed, error) {
	k, err := v.dataKey(ctx, key, false)
	if errors.Is(err, ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	box, err := k.seal(v.random, string(key)+textLabel, []byte(text))
	if err != nil {
		return nil, err
	}
	return &domain.Sealed{Key: key, Box: box}, nil
}

// OpenText decrypts what SealText made; an erased text and nil open as "".
func (v *Store) OpenText(ctx context.Context, s *domain.Sealed) (string, error) {
	if s == nil {
		return "", nil
	}
	k, err := v.dataKey(ctx, s.Key, false)
	if errors.Is(err, ErrGone) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	plain, err := k.open(string(s.Key)+textLabel, s.Box)
	if errors.Is(err, ErrGone) {
		err = nil
	}
	return string(plain), err
}
