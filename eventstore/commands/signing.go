package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
)

// RotatedSecret is the result of a rotation.
type RotatedSecret struct {
	Signing account.SigningSecret
	Text    string // the new secret; shown once (D20)
	// Ended is the secret whose overlap the rotation ended early (D18); nil if no overlap was running.
	Ended *account.PreviousSecret
}

// RotateSigningSecret sets a new signing secret for the account (§5.2 rule 3, D18). Its effects, in order:
//
//  1. The new secret is stored. After a crash here it is unused and was never shown, and webhooks are signed as before. The
//     next rotation takes another number, and the unused secret is destroyed with the older ones.
//  2. The event makes it current. After a crash here, before the answer, it signs and was never shown: receivers accept
//     webhooks by the previous secret for 24 hours, in which the merchant rotates again.
//  3. Later CleanSigning destroys older secrets, except the previous one for 24 hours. It reads the account's state, so its
//     next run continues after a crash.
func (s *Service) RotateSigningSecret(ctx context.Context, by Caller) (RotatedSecret, error) {
	tip, err := s.log.Accounts.Load(ctx, by.Account, by.Account, eventstore.Latest)
	if err != nil {
		return RotatedSecret{}, err
	}
	text, err := newSigningSecret(s.Random)
	if err != nil {
		return RotatedSecret{}, err
	}
	name, err := s.storeSigningSecret(ctx, tip.State.Signing.Secret, text)
	if err != nil {
		return RotatedSecret{}, err
	}
	rotated := RotatedSecret{Text: text}
	after, err := s.changeAccount(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
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
	rotated.Signing = after.Signing
	return rotated, nil
}

// storeSigningSecret stores a secret under the first free number after the current one's. Interrupted or concurrent
// rotations took the numbers before; a value is never overwritten.
func (s *Service) storeSigningSecret(ctx context.Context, current domain.SecretID, text string) (domain.SecretID, error) {
	owner, number, err := secrets.SigningSecretNumber(current)
	if err != nil {
		return "", err
	}
	for {
		number++
		name := secrets.SigningSecretName(owner, number)
		err := s.Secrets.Create(ctx, name, []byte(text))
		switch {
		case err == nil:
			return name, nil
		case !errors.Is(err, eventstore.ErrConflict):
			return "", domain.Unavailable(fmt.Errorf("commands: signing secret: %w", err))
		}
	}
}

// newSigningSecret returns a new secret's text (D2).
func newSigningSecret(random io.Reader) (string, error) {
	text, err := randomText(random, signingSecretLength)
	return signingSecretPrefix + text, err
}

// signingHint returns the last 4 of the secret's 43 random characters, which identify it.
func signingHint(text string) string { return text[len(text)-4:] }
