package users

import (
	"errors"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/account"
)

// Reason tells the refusals apart.
type Reason string

// Reasons of refusals. texts has the meaning of those without a comment.
const (
	// WrongCredentials: there is no such user, or the password is wrong. Both have the same answer.
	WrongCredentials Reason = "WRONG_CREDENTIALS"
	// CodeNeeded: the password is right, and the user's second factor is on. Refusal.Step continues
	// without the password.
	CodeNeeded Reason = "CODE_NEEDED"
	// CodeWrong: the code is wrong, or was used before. Refusal.Step continues without the
	// password.
	CodeWrong Reason = "CODE_WRONG"
	// LockedUser: too many wrong passwords or codes for this name, from this network, device or
	// session; Refusal.Until is the end.
	LockedUser Reason = "LOCKED"
	// TooManyTries: too many tries from this address; Refusal.Until is the time of the next one.
	TooManyTries Reason = "TOO_MANY_TRIES"
	Busy         Reason = "BUSY"
	// AccountNeeded: users of several accounts fit. SignInInput.Account must name the account;
	// Refusal.Accounts has those whose password was right, or is empty if there are too many to
	// compare.
	AccountNeeded Reason = "ACCOUNT_NEEDED"
	StepExpired   Reason = "STEP_EXPIRED"
	// NoSession: there is no token, or it is not one of ours.
	NoSession Reason = "NO_SESSION"
	// SessionExpired: nothing was done for an hour, or 12 hours are over. Sign in again.
	SessionExpired Reason = "SESSION_EXPIRED"
	// SessionEnded: the user signed out or was removed, or the password, the role or the second
	// factor was changed. Sign in again.
	SessionEnded Reason = "SESSION_ENDED"
	FactorOn     Reason = "FACTOR_ON"
	FactorOff    Reason = "FACTOR_OFF"
)

// Refusal is the error of a command of this package that the user can do something about. It is
// also a *domain.Error, for errors.As.
type Refusal struct {
	Reason   Reason
	Until    time.Time // of LockedUser and TooManyTries
	NameOnly bool      // of LockedUser: the try named no account
	Step     string    // of CodeNeeded and CodeWrong
	Accounts []AccountChoice
}

// AccountChoice is an account that a user may sign in to.
type AccountChoice struct {
	ID   domain.AccountID
	Name string
}

// texts are the messages for the user, with the error of the API.
var texts = map[Reason]struct {
	kind   domain.Kind
	reason domain.Reason
	text   string
}{
	WrongCredentials: {domain.KindUnauthorized, domain.ReasonUnauthorized, "The name or the password is wrong."},
	CodeNeeded:       {domain.KindUnauthorized, domain.ReasonUnauthorized, "Enter the code of your authenticator app, or a recovery code."},
	CodeWrong:        {domain.KindUnauthorized, domain.ReasonUnauthorized, "The code is wrong, too old, or was used before. Wait for the next one, or use another recovery code."},
	LockedUser:       {domain.KindUnavailable, domain.ReasonRateLimitExceeded, "Too many wrong passwords or codes from your network or device."},
	TooManyTries:     {domain.KindUnavailable, domain.ReasonRateLimitExceeded, "Too many tries from this address."},
	Busy:             {domain.KindUnavailable, domain.ReasonRateLimitExceeded, "Too many sign-ins at this moment. Repeat in a few seconds."},
	AccountNeeded:    {domain.KindUnauthorized, domain.ReasonUnauthorized, "Several accounts have a user of this name. Name the account."},
	StepExpired:      {domain.KindUnauthorized, domain.ReasonUnauthorized, "Too much time has passed since the password. Begin again."},
	NoSession:        {domain.KindUnauthorized, domain.ReasonUnauthorized, "Sign in."},
	SessionExpired:   {domain.KindUnauthorized, domain.ReasonUnauthorized, "The session has expired. Sign in again."},
	SessionEnded:     {domain.KindUnauthorized, domain.ReasonUnauthorized, "The session has ended. Sign in again."},
	FactorOn:         {domain.KindConflict, domain.ReasonConcurrentModification, "The second factor is on already. Turn it off first."},
	FactorOff:        {domain.KindConflict, domain.ReasonConcurrentModification, "There is no second factor to confirm or to turn off. Begin again."},
}

func (r *Refusal) Error() string {
	text := texts[r.Reason].text
	if r.NameOnly {
		text += " If several accounts have a user of this name, enter the account's id as well."
	}
	if r.Until.IsZero() {
		return text
	}
	return fmt.Sprintf("%s Next try after %s.", text, r.Until.UTC().Format(time.RFC3339))
}

// Unwrap returns the error of the API.
func (r *Refusal) Unwrap() error {
	t := texts[r.Reason]
	return domain.Refuse(t.kind, t.reason, "%s", r.Error())
}

// ReasonOf returns the reason of a refusal; "" for another error, and for none.
func ReasonOf(err error) Reason {
	if r, is := errors.AsType[*Refusal](err); is {
		return r.Reason
	}
	return ""
}

func refuse(reason Reason) *Refusal { return &Refusal{Reason: reason} }

// refusalOf returns the refusal of a decision; other errors stay.
func refusalOf(err error) error {
	var locked *account.Locked
	switch {
	case errors.As(err, &locked):
		return &Refusal{Reason: LockedUser, Until: locked.Until}
	case errors.Is(err, account.ErrCodeUsed):
		return refuse(CodeWrong)
	case errors.Is(err, account.ErrTOTPOn):
		return refuse(FactorOn)
	}
	return err
}
