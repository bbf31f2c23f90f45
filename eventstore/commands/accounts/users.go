package accounts

import (
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/secrets"
)

// UserInput describes a new dashboard user (D20).
type UserInput struct {
	Email string       `json:"email"`
	Role  account.Role `json:"role"`
}

// UserChange changes a dashboard user (D20).
type UserChange struct {
	Role          *account.Role `json:"role"`          // nil: unchanged
	ResetPassword bool          `json:"resetPassword"` // sets another password, which is shown once
	DisableTOTP   bool          `json:"disableTotp"`   // turns the second factor off
}

// AddUser adds a dashboard user and returns the password, which is shown once (D20). Its effects,
// in order:
//
//  1. The verifier of the password is stored. After a crash here nobody can use it: its user does
//     not exist. The caller repeats the command.
//  2. The event adds the user. After a crash here the user exists, and the password was never
//     shown: the caller resets it.
func (s *Accounts) AddUser(ctx context.Context, by commands.Caller, in UserInput) (account.User, string, error) {
	random, err := s.Random16()
	if err != nil {
		return account.User{}, "", err
	}
	password, err := randomText(s.Random, passwordLength)
	if err != nil {
		return account.User{}, "", err
	}
	id := domain.NewUserID(random)
	made := account.User{ID: id, Name: in.Email, Role: in.Role, Password: secrets.PasswordName(by.Account, id, 1)}
	decide := func(state account.State, at time.Time) (account.Event, error) {
		return account.DecideAddUser(state, account.AddUser{At: at, User: made})
	}
	tip, err := s.Log.Accounts.Load(ctx, by.Account, by.Account, eventstore.Latest)
	if err == nil {
		_, err = decide(tip.State, s.Store.Now()) // a refused request stores no verifier
	}
	if err != nil {
		return account.User{}, "", err
	}
	verifier, err := s.newVerifier(ctx, by.Account, password)
	if err != nil {
		return account.User{}, "", err
	}
	if err := s.Secrets.Create(ctx, made.Password, verifier); err != nil {
		return account.User{}, "", domain.Unavailable(err)
	}
	after, _, err := s.changeShown(ctx, by, decide)
	if domain.ReasonOf(err) == domain.ReasonRequestValidation { // another command was faster
		err = errors.Join(err, s.Secrets.Destroy(context.WithoutCancel(ctx), made.Password))
	}
	added, _ := after.User(id)
	return added, password, err
}

// ChangeUser changes the role, then the password, then the second factor of a dashboard user, each
// with an event (D20): the old password never signs in without the second factor. A repeat after an
// error makes the missing changes. A new password is returned, shown once.
func (s *Accounts) ChangeUser(ctx context.Context, by commands.Caller, id domain.UserID, in UserChange) (account.User, string, error) {
	state, err := s.change(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		if _, known := state.User(id); !known {
			return nil, account.NoUser()
		}
		if in.Role == nil {
			return nil, nil
		}
		return account.DecideChangeUserRole(state, account.ChangeUserRole{At: at, User: id, Role: *in.Role})
	})
	user, _ := state.User(id)
	var password string
	if err == nil && in.ResetPassword {
		password, err = s.ResetUserPassword(ctx, by, user)
		user.LockedUntil = time.Time{}
	}
	if err != nil || !in.DisableTOTP {
		return user, password, err
	}
	state, err = s.DisableUserTOTP(ctx, by, id)
	user, _ = state.User(id)
	return user, password, err
}

// DisableUserTOTP turns off a user's second factor for somebody else, and ends the user's sessions.
// Its effects, in order:
//
//  1. The event. After a crash here the secret is not in force, and CleanUsers destroys it.
//  2. The secrets are destroyed.
func (s *Accounts) DisableUserTOTP(ctx context.Context, by commands.Caller, id domain.UserID) (account.State, error) {
	state, err := s.change(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		return account.DecideDisableUserTOTP(state, account.DisableUserTOTP{At: at, User: id})
	})
	user, _ := state.User(id)
	if err == nil && user.TOTPLast != "" {
		err = s.Secrets.DestroyUserSecrets(ctx, user.TOTPLast)
	}
	return state, err
}

// RemoveUser removes a dashboard user and returns the user as it was (D20). Its effects, in order:
//
//  1. The event. After a crash here the user cannot sign in, and CleanUsers destroys the secrets.
//  2. The verifier and the secret of the second factor are destroyed.
func (s *Accounts) RemoveUser(ctx context.Context, by commands.Caller, id domain.UserID) (account.User, error) {
	var removed account.User
	_, err := s.change(ctx, by, func(state account.State, at time.Time) (account.Event, error) {
		removed, _ = state.User(id)
		return account.DecideRemoveUser(state, account.RemoveUser{At: at, User: id})
	})
	if err != nil {
		return removed, err
	}
	for _, last := range []domain.SecretID{removed.Password, removed.TOTPLast} {
		if last != "" {
			err = errors.Join(err, s.Secrets.DestroyUserSecrets(ctx, last))
		}
	}
	return removed, err
}
