package accounts

import (
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands"
	"payledger/eventstore/secrets"
	"payledger/eventstore/secrets/hashing"
)

// ResetUserPassword sets and returns a dashboard user's new password, shown once, and ends the
// sessions and a lock. Its effects, in order:
//
//  1. The verifier of the new password is stored under a new name. After a crash here the old
//     password is valid, and the verifier unused.
//  2. The event makes it the user's. After a crash here the new password is valid and was never
//     shown: another reset is needed.
//  3. The earlier verifiers are destroyed. After a crash here they are not valid, and the next
//     reset, or CleanUsers, destroys them.
func (s *Accounts) ResetUserPassword(ctx context.Context, by commands.Caller, user account.User) (string, error) {
	password, err := randomText(s.Random, passwordLength)
	if err != nil {
		return "", err
	}
	name, err := s.StorePassword(ctx, by.Account, user, password)
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
	return password, s.Secrets.DestroyUserSecretsBefore(ctx, name)
}

// StorePassword stores the verifier of a password under a name that follows the one of the user's.
// An event must make it the user's.
func (s *Accounts) StorePassword(ctx context.Context, owner domain.AccountID, user account.User, password string) (domain.SecretID, error) {
	verifier, err := s.newVerifier(ctx, owner, password)
	if err != nil {
		return "", err
	}
	number, err := secrets.UserSecretNumber(user.Password)
	if err != nil {
		return "", err
	}
	return s.StoreNumbered(ctx, "password", verifier, number, func(number uint64) domain.SecretID {
		return secrets.PasswordName(owner, user.ID, number)
	})
}

// newVerifier returns the verifier of a password, under the bound of hashing (D22.13).
func (s *Accounts) newVerifier(ctx context.Context, owner domain.AccountID, password string) (verifier []byte, err error) {
	permit, err := s.Hashing.Enter(ctx, hashing.By{Who: string(owner), Known: true})
	if errors.Is(err, hashing.ErrBusy) {
		return nil, &domain.Error{
			Kind: domain.KindUnavailable, Reason: domain.ReasonRateLimitExceeded, Err: err,
			Message: "Too many passwords are being made or checked at this moment. The password was not changed.",
		}
	}
	if err != nil {
		return nil, err
	}
	defer permit.Leave()
	permit.Hash(func() { verifier, err = secrets.NewPassword(s.Random, password) })
	return verifier, err
}
