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

// RotatedSecret is what a rotation answers.
type RotatedSecret struct {
	Signing account.SigningSecret
	Text    string // of the new secret; shown once (D20)
	// Ended is the secret whose overlap the rotation has ended early (D18); nil when none was valid still.
	Ended *account.PreviousSecret
}

// RotateSigningSecret gives the account another signing secret (§5.2 rule 3, D18). Its effects come in this order:
//
//  1. The new secret is durable in the vault. A crash after it leaves a secret that is in nobody's use and was shown
//     to nobody; webhooks are signed as before. The next rotation takes another number, and once it is current
//     the left one is destroyed with the older ones.
//  2. The event makes it current. A crash after it, before the answer, leaves a secret that signs and that nobody was
//     shown: receivers accept webhooks by the previous secret for 24 hours, in which the merchant rotates again.
//  3. Later CleanSigning destroys what is older than the current one, save the previous one for 24 hours. It reads
//     what to destroy from the account's state, so a crash there is made good by its next run.
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

// storeSigningSecret keeps a secret under the first free number after the current one's. Taken numbers are those of
// rotations that were cut short, or are under way; a value is never written over.
func (s *Service) storeSigningSecret(ctx context.Context, current domain.SecretID, text string) (domain.SecretID, error) {
	owner, number, err := secrets.SigningSecretNumber(current)
	if err != nil {
		return "", err
	}
	for {
		number++
		name := secrets.SigningSecretName(owner, number)
		err := s.Vault.Create(ctx, name, []byte(text))
		switch {
		case err == nil:
			return name, nil
		case !errors.Is(err, eventstore.ErrConflict):
			return "", domain.Unavailable(fmt.Errorf("commands: signing secret: %w", err))
		}
	}
}

// newSigningSecret makes a secret as it is shown (D2).
func newSigningSecret(random io.Reader) (string, error) {
	text, err := randomText(random, signingSecretLength)
	return signingSecretPrefix + text, err
}

// signingHint is what tells a secret from others without giving it away: 4 of its 43 random characters.
func signingHint(text string) string { return text[len(text)-4:] }
