package accounts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/secrets"
)

// RotatedSecret is the result of a rotation.
type RotatedSecret struct {
	Signing account.SigningSecret
	Text    string // the new secret; shown once (D20)
	// Ended is the secret whose overlap the rotation ended early (D18); nil if no overlap was
	// running.
	Ended *account.PreviousSecret
	// Elsewhere is the reason why a node may still sign with the previous secret alone; nil: every
	// node signs with the new one.
	Elsewhere error
}

// RotateSigningSecret sets a new signing secret for the account (§5.2 rule 3, D18). Its effects, in
// order:
//
//  1. The new secret is stored. After a crash here it is unused and was never shown, and webhooks
//     are signed as before. The next rotation takes another number, and the unused secret is
//     destroyed with the older ones.
//  2. The event makes it current. After a crash here, before the answer, it signs and was never
//     shown: receivers accept webhooks by the previous secret for 24 hours, in which the merchant
//     rotates again.
//  3. CleanSigning destroys older secrets, the previous one after 24 hours. It goes by the
//     account's state, also after a crash.
func (s *Accounts) RotateSigningSecret(ctx context.Context, by commands.Caller) (RotatedSecret, error) {
	tip, err := s.Log.Accounts.Load(ctx, by.Account, by.Account, eventstore.Latest)
	if err != nil {
		return RotatedSecret{}, err
	}
	text, err := newSigningSecret(s.Random)
	if err != nil {
		return RotatedSecret{}, err
	}
	owner, number, err := secrets.SigningSecretNumber(tip.State.Signing.Secret)
	if err != nil {
		return RotatedSecret{}, err
	}
	name, err := s.StoreNumbered(ctx, "signing secret", []byte(text), number, func(number uint64) domain.SecretID {
		return secrets.SigningSecretName(owner, number)
	})
	if err != nil {
		return RotatedSecret{}, err
	}
	rotated := RotatedSecret{Text: text}
	after, elsewhere, err := s.changeShown(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		rotated.Ended = nil
		if previous, overlaps := state.Signing.Overlap(at); overlaps {
			rotated.Ended = &previous
		}
		return account.DecideRotateSigningSecret(state, account.RotateSigningSecret{
			At: at, Replaces: tip.State.Signing.Secret, Secret: name, Hint: signingHint(text),
		})
	})
	if err != nil {
		return RotatedSecret{}, err
	}
	rotated.Signing, rotated.Elsewhere = after.Signing, elsewhere
	return rotated, nil
}

// StoreNumbered stores a secret under the first free number after a number: a value of another
// command is never overwritten.
func (s *Accounts) StoreNumbered(ctx context.Context, kind string, value []byte, after uint64, name func(number uint64) domain.SecretID) (domain.SecretID, error) {
	for number := after + 1; ; number++ {
		err := s.Secrets.Create(ctx, name(number), value)
		switch {
		case err == nil:
			return name(number), nil
		case !errors.Is(err, eventstore.ErrConflict):
			return "", domain.Unavailable(fmt.Errorf("commands: %s: %w", kind, err))
		}
	}
}

func newSigningSecret(random io.Reader) (string, error) {
	text, err := randomText(random, signingSecretLength)
	return signingSecretPrefix + text, err
}

// signingHint returns the last 4 of the secret's 43 random characters, which identify it.
func signingHint(text string) string { return text[len(text)-4:] }
