package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
)

// ResetUserPassword sets a new password for a dashboard user and returns the password, which is shown once. Its effects, in order:
//
//  1. The verifier of the new password is stored under a name of its own. After a crash here the old password is valid. The
//     next reset takes another name and destroys the unused verifier.
//  2. The event makes the verifier the user's. After a crash here the new password is valid and was never shown: another
//     reset is needed.
//  3. The earlier verifiers are destroyed. After a crash here they are not valid, and the next reset destroys them.
func (s *Service) ResetUserPassword(ctx context.Context, by Caller, user account.User) (string, error) {
	password, err := randomText(s.Random, passwordLength)
	if err != nil {
		return "", err
	}
	verifier, err := secrets.NewPassword(s.Random, password)
	if err != nil {
		return "", err
	}
	name, err := s.storePassword(ctx, by.Account, user, verifier)
	if err != nil {
		return "", err
	}
	_, err = s.changeAccount(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		return account.DecideResetUserPassword(state, account.ResetUserPassword{
			UserPasswordReset: account.UserPasswordReset{At: at, User: user.ID, Password: name}, Replaces: user.Password,
		})
	})
	if err != nil {
		return "", err
	}
	return password, s.Secrets.CleanPasswords(ctx, name)
}

// storePassword stores a verifier under the first free number after the current one's. Interrupted or concurrent resets
// took the numbers before; a value is never overwritten.
func (s *Service) storePassword(ctx context.Context, owner domain.AccountID, user account.User, verifier []byte) (domain.SecretID, error) {
	number, err := secrets.PasswordNumber(user.Password)
	if err != nil {
		return "", err
	}
	for {
		number++
		name := secrets.PasswordName(owner, user.ID, number)
		err := s.Secrets.Create(ctx, name, verifier)
		switch {
		case err == nil:
			return name, nil
		case !errors.Is(err, eventstore.ErrConflict):
			return "", domain.Unavailable(fmt.Errorf("commands: password: %w", err))
		}
	}
}
