package users

import (
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/secrets/hashing"
)

// ChangePassword sets another password for the signed-in user, ends all of the user's sessions and
// begins a new one. A Refusal has the reason WrongCredentials, LockedUser, TooManyTries or Busy. A
// new password that is too weak is a RequestValidationError with the path $.newPassword. Its
// effects, in order:
//
//  1. The verifier of the new password is stored under a new name. After a crash here the old
//     password is valid.
//  2. The event makes the verifier the user's. After a crash here the new password is valid.
//  3. The earlier verifiers are destroyed. After a crash here they are not valid, and CleanUsers
//     destroys them.
func (u *Users) ChangePassword(ctx context.Context, who Current, in PasswordChange) (SignedIn, error) {
	next := normal(in.New)
	if found := passwordFaults(next, normal(in.Old), who.User.Name, who.Account.Name); len(found) > 0 {
		return SignedIn{}, domain.Invalid("PasswordChange", found...)
	}
	return withPassword(ctx, u, who, in.Old, in.Origin, func(c candidate) (SignedIn, error) {
		name, err := u.Accounts.StorePassword(ctx, c.state.ID, c.user, next)
		if errors.Is(err, hashing.ErrBusy) {
			err = refuse(Busy)
		}
		if err != nil {
			return SignedIn{}, err
		}
		made, err := u.begin(ctx, c, in.Origin, func(state account.State, at time.Time, id domain.UserSessionID) (account.Event, error) {
			return account.DecideChangeUserPassword(state, account.ChangeUserPassword{
				UserPasswordChanged: account.UserPasswordChanged{At: at, User: c.user.ID, Password: name, Session: id}, Replaces: c.user.Password, By: who.Session.ID,
			})
		})
		if err != nil {
			return made, err
		}
		return made, u.Accounts.Secrets.DestroyUserSecretsBefore(ctx, name)
	})
}
