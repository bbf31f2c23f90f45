package secrets

import (
	"context"
	"errors"

	"payledger/domain"
)

// Claim makes the master key the key of a log that has no account yet. It returns ErrSealed if a
// value of the log is sealed with another key: another init of the log is under way, or was cut
// short.
func (v *Store) Claim(ctx context.Context) error {
	_, _, err := v.CheckpointSigner(ctx) // a log has one, and its first writer wins
	return err
}

// DestroyForeign destroys the values that the master key does not open. Only a log without an
// account may have such values.
func (v *Store) DestroyForeign(ctx context.Context) error {
	names, err := v.bytes.Names(ctx, "")
	if err != nil {
		return err
	}
	var foreign []string
	for _, name := range names {
		switch _, err := v.Get(ctx, domain.SecretID(name)); {
		case errors.Is(err, ErrSealed):
			foreign = append(foreign, name)
		case err != nil && !errors.Is(err, ErrGone):
			return err
		}
	}
	return v.bytes.Destroy(ctx, foreign...)
}
