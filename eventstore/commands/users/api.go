package users

import "context"

// Users signs users in and out. It is safe for concurrent use.
type Users struct{ Config }

// New returns a Users.
func New(c Config) *Users { return &Users{Config: c} }

// SignIn begins a session. A Refusal has the reason WrongCredentials, CodeNeeded, CodeWrong, LockedUser, TooManyTries, Busy,
// AccountNeeded or StepExpired.
func (u *Users) SignIn(ctx context.Context, in SignInInput) (SignedIn, error) { panic("next commit") }

// Session returns the session of a token. A Refusal has the reason NoSession, SessionExpired or SessionEnded.
func (u *Users) Session(ctx context.Context, token string) (Current, error) { panic("next commit") }

// SignOut ends the session of a token. A token that proves no open session is no error.
func (u *Users) SignOut(ctx context.Context, token string, from Origin) error { panic("next commit") }

// ChangePassword sets another password for the signed-in user, ends all of the user's sessions and begins a new one. A Refusal has the reason
// WrongCredentials, LockedUser, TooManyTries or Busy. A new password that is too weak is a RequestValidationError with the path $.newPassword.
func (u *Users) ChangePassword(ctx context.Context, who Current, in PasswordChange) (SignedIn, error) {
	panic("next commit")
}

// BeginTOTP makes a secret for the signed-in user and returns it, shown once. It has no effect until ConfirmTOTP. A Refusal has the reason
// WrongCredentials (of the password), LockedUser, TooManyTries, Busy or FactorOn.
func (u *Users) BeginTOTP(ctx context.Context, who Current, password string, from Origin) (NewFactor, error) {
	panic("next commit")
}

// ConfirmTOTP turns the second factor on, if the code is one of the secret of BeginTOTP. It ends all of the user's sessions and begins a new one.
// A Refusal has the reason CodeWrong, FactorOff or FactorOn.
func (u *Users) ConfirmTOTP(ctx context.Context, who Current, code string, from Origin) (SignedIn, error) {
	panic("next commit")
}

// DisableTOTP turns the second factor off, if the code is right. It ends all of the user's sessions and begins a new one. A Refusal has the reason
// CodeWrong, LockedUser, TooManyTries or FactorOff.
func (u *Users) DisableTOTP(ctx context.Context, who Current, code string, from Origin) (SignedIn, error) {
	panic("next commit")
}
