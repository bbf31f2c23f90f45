package users

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/account"
)

// ChangePassword sets another password for the signed-in user, ends all of the user's sessions and begins a new one. A Refusal has the reason
// WrongCredentials, LockedUser, TooManyTries or Busy. A new password that is too weak is a RequestValidationError with the path $.newPassword.
// Its effects, in order:
//
//  1. The verifier of the new password is stored under a name of its own. After a crash here the old password is valid, and the next change
//     takes another name.
//  2. The event makes the verifier the user's. After a crash here the new password is valid.
//  3. The earlier verifiers are destroyed. After a crash here they are not valid, and CleanUsers destroys them.
func (u *Users) ChangePassword(ctx context.Context, who Current, in PasswordChange) (SignedIn, error) {
	next := normal(in.New)
	if found := passwordFaults(next, normal(in.Old), who.User.Name, who.Account.Name); len(found) > 0 {
		return SignedIn{}, domain.Invalid("PasswordChange", found...)
	}
	var made SignedIn
	err := u.withPassword(ctx, who, in.Old, in.Origin, func(c candidate) error {
		name, err := u.Accounts.StorePassword(ctx, c.state.ID, c.user, next)
		if err != nil {
			return err
		}
		id, err := u.newSession()
		if err != nil {
			return err
		}
		state, err := u.record(ctx, in.caller(c.state.ID, Actor(c.user.ID)), func(state account.State, at time.Time) (account.Event, error) {
			return account.DecideChangeUserPassword(state, account.ChangeUserPassword{
				UserPasswordChanged: account.UserPasswordChanged{At: at, User: c.user.ID, Password: name, Session: id}, Replaces: c.user.Password,
			})
		})
		if err != nil {
			return err
		}
		if made, err = u.signedIn(state, c.user.ID, id); err != nil {
			return err
		}
		return u.Accounts.Secrets.DestroyUserSecretsBefore(ctx, name)
	})
	return made, err
}
