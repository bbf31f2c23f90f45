package dashboard

import (
	"context"

	"payledger/eventstore/commands/users"
)

// Users signs staff in and out; see package users.
type Users interface {
	SignIn(ctx context.Context, in users.SignInInput) (users.SignedIn, error)
	Session(ctx context.Context, token string) (users.Current, error)
	SignOut(ctx context.Context, token string, from users.Origin) error
	ChangePassword(ctx context.Context, who users.Current, in users.PasswordChange) (users.SignedIn, error)
	BeginTOTP(ctx context.Context, who users.Current, password string, from users.Origin) (users.NewFactor, error)
	ConfirmTOTP(ctx context.Context, who users.Current, code string, from users.Origin) (users.SignedIn, error)
	DisableTOTP(ctx context.Context, who users.Current, code string, from users.Origin) (users.SignedIn, error)
}

// codeChange is a change of the second factor that needs a code.
type codeChange func(ctx context.Context, who users.Current, code string, from users.Origin) (users.SignedIn, error)
