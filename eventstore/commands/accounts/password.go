package accounts

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands"
	"payledger/eventstore/secrets"
)

// ResetUserPassword sets a new password for a dashboard user and returns the password, which is shown once. Its effects, in order:
//
//  1. The verifier of the new password is stored under a name of its own. After a crash here the old password is valid. The
//     next reset takes another name and destroys the unused verifier.
//  2. The event makes the verifier the user's. After a crash here the new password is valid and was never shown: another
//     reset is needed.
//  3. The earlier verifiers are destroyed. After a crash here they are not valid, and the next reset destroys them.
func (s *Accounts) ResetUserPassword(ctx context.Context, by commands.Caller, user account.User) (string, error) {
	password, err := randomText(s.Random, passwordLength)
	if err != nil {
		return "", err
	}
	verifier, err := secrets.NewPassword(s.Random, password)
	if err != nil {
		return "", err
	}
	number, err := secrets.PasswordNumber(user.Password)
	if err != nil {
		return "", err
	}
	name, err := s.storeNumbered(ctx, "password", verifier, number, func(number uint64) domain.SecretID {
		return secrets.PasswordName(by.Account, user.ID, number)
	})
	if err != nil {
		return "", err
	}
	_, _, err = s.changeShown(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		return account.DecideResetUserPassword(state, account.ResetUserPassword{
			UserPasswordReset: account.UserPasswordReset{At: at, User: user.ID, Password: name}, Replaces: user.Password,
		})
	})
	if err != nil {
		return "", err
	}
	return password, s.Secrets.CleanPasswords(ctx, name)
}
