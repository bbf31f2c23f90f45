package users

import (
	"cmp"
	"context"
	"encoding/base32"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/secrets"
)

// The codes of RFC 6238, as every authenticator app makes them.
const (
	codePeriod = 30 // seconds
	codeSkew   = 1  // periods before and after the present one
	secretSize = 20 // bytes: the size of a SHA-1 key (RFC 4226)
	issuer     = "payledger"
)

func matchCode(secret []byte, code string, now time.Time) (counter uint64, right bool) {
	key := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)
	present := uint64(now.Unix()) / codePeriod
	for counter := present - codeSkew; counter <= present+codeSkew; counter++ {
		same, err := hotp.ValidateCustom(code, counter, key, hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
		if err == nil && same {
			return counter, true
		}
	}
	return 0, false
}

// BeginTOTP makes a secret for the signed-in user and returns it, shown once. It has no effect
// until ConfirmTOTP. A Refusal has the reason WrongCredentials (of the password), LockedUser,
// TooManyTries, Busy or FactorOn. Its effects, in order:
//
//  1. The secret is stored. After a crash here it is unused, and the next call takes another
//     number.
//  2. The event makes it the one to confirm. After a crash here it was never shown: the user begins
//     again.
//  3. Earlier secrets, which were not confirmed, are destroyed. After a crash here CleanUsers
//     destroys them.
func (u *Users) BeginTOTP(ctx context.Context, who Current, password string, from Origin) (NewFactor, error) {
	return withPassword(ctx, u, who, password, from, func(c candidate) (made NewFactor, err error) {
		if c.user.TOTP != "" {
			return made, refuse(FactorOn)
		}
		secret := make([]byte, secretSize)
		if _, err := io.ReadFull(u.Accounts.Random, secret); err != nil {
			return made, err
		}
		key, err := totp.Generate(totp.GenerateOpts{
			Issuer: issuer + " " + c.state.Environment, AccountName: c.user.Name, Secret: secret, Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1,
		})
		if err != nil {
			return made, err
		}
		name, err := u.storeTOTP(ctx, c, secret)
		if err != nil {
			return made, err
		}
		_, err = u.record(ctx, from.caller(c.state.ID, Actor(c.user.ID)), func(state account.State, at time.Time) (account.Event, error) {
			return account.DecideBeginUserTOTP(state, account.BeginUserTOTP{
				UserTOTPBegun: account.UserTOTPBegun{At: at, User: c.user.ID, TOTP: name}, Proof: account.Proof{Password: c.user.Password},
			})
		})
		if err != nil {
			return made, err
		}
		return NewFactor{Secret: key.Secret(), URI: key.URL()}, u.Accounts.Secrets.DestroyUserSecretsBefore(ctx, name)
	})
}

// storeTOTP stores a secret under a number that the user never had.
func (u *Users) storeTOTP(ctx context.Context, c candidate, secret []byte) (domain.SecretID, error) {
	var last uint64
	if c.user.TOTPLast != "" {
		var err error
		if last, err = secrets.UserSecretNumber(c.user.TOTPLast); err != nil {
			return "", err
		}
	}
	return u.Accounts.StoreNumbered(ctx, "second factor", secret, last, func(number uint64) domain.SecretID {
		return secrets.TOTPName(c.state.ID, c.user.ID, number)
	})
}

// ConfirmTOTP turns the second factor on if the code is of BeginTOTP's secret, ends all of the
// user's sessions and begins a new one, which has the recovery codes. A Refusal has the reason
// CodeWrong, LockedUser, TooManyTries, Busy, FactorOff or FactorOn: wrong codes count as in a
// sign-in.
func (u *Users) ConfirmTOTP(ctx context.Context, who Current, code string, from Origin) (SignedIn, error) {
	return limited(ctx, u, who, func(c candidate, by source) (SignedIn, error) {
		done, err := u.codes.begin(ctx)
		if err != nil {
			return SignedIn{}, err
		}
		defer done()
		user := c.user
		switch {
		case user.TOTP != "":
			return SignedIn{}, refuse(FactorOn)
		case user.TOTPBegun == "":
			return SignedIn{}, refuse(FactorOff)
		}
		if err := u.codeWaits(ctx, c, by); err != nil {
			return SignedIn{}, err
		}
		secret, err := u.Accounts.Secrets.Get(ctx, user.TOTPBegun)
		if errors.Is(err, secrets.ErrGone) {
			return SignedIn{}, refuse(FactorOff)
		}
		if err != nil {
			return SignedIn{}, err
		}
		counter, right := matchCode(secret, strings.Join(strings.Fields(code), ""), u.now())
		if !right {
			return SignedIn{}, u.failCode(ctx, c, from, by)
		}
		u.codeRight(c.state.ID, c.user.ID, by)
		codes, err := recoveryCodes(secret)
		if err != nil {
			return SignedIn{}, err
		}
		made, err := u.begin(ctx, c, from, func(state account.State, at time.Time, id domain.UserSessionID) (account.Event, error) {
			return account.DecideEnableUserTOTP(state, account.EnableUserTOTP{
				UserTOTPEnabled: account.UserTOTPEnabled{At: at, User: user.ID, TOTP: user.TOTPBegun, TOTPCounter: counter, Session: id}, By: who.Session.ID,
			})
		})
		if err == nil {
			made.Recovery = codes
		}
		return made, err
	})
}

// DisableTOTP turns the second factor off, if the code is right. It ends all of the user's sessions
// and begins a new one. A Refusal has the reason CodeNeeded, CodeWrong, LockedUser, TooManyTries,
// Busy or FactorOff. Its effects, in order:
//
//  1. The event. After a crash here the secret is not in force, and CleanUsers destroys it.
//  2. The secret is destroyed.
func (u *Users) DisableTOTP(ctx context.Context, who Current, code string, from Origin) (SignedIn, error) {
	return limited(ctx, u, who, func(c candidate, by source) (SignedIn, error) {
		if c.user.TOTP == "" {
			return SignedIn{}, refuse(FactorOff)
		}
		done, err := u.codes.begin(ctx)
		if err != nil {
			return SignedIn{}, err
		}
		defer done()
		proof := account.Proof{TOTP: c.user.TOTP, Known: true}
		if err := u.checkCode(ctx, c, code, from, by, &proof); err != nil {
			return SignedIn{}, err
		}
		made, err := u.begin(ctx, c, from, func(state account.State, at time.Time, id domain.UserSessionID) (account.Event, error) {
			return account.DecideDisableUserTOTP(state, account.DisableUserTOTP{At: at, User: c.user.ID, Proof: &proof, By: who.Session.ID, Session: id})
		})
		if err != nil {
			return made, err
		}
		u.codeRight(c.state.ID, c.user.ID, by)
		return made, u.Accounts.Secrets.DestroyUserSecrets(ctx, c.user.TOTPLast)
	})
}

// limited runs a command of a signed-in user that a wrong password or code refuses, with the newest
// state of the user. Failures count for the session, as those of a sign-in do for its network: a
// stolen session must not try out the password.
func limited[T any](ctx context.Context, u *Users, who Current, run func(candidate, source) (T, error)) (made T, err error) {
	by := sessionSource(who)
	if until := u.tries.take(by.limit, u.now()); !until.IsZero() {
		return made, &Refusal{Reason: TooManyTries, Until: until}
	}
	state, user, err := u.newest(ctx, who.Account.ID, who.User.ID)
	if err != nil {
		return made, err
	}
	if made, err = run(candidate{state, user}, by); !slices.Contains([]Reason{WrongCredentials, CodeWrong, LockedUser}, ReasonOf(err)) {
		u.tries.giveBack(by.limit, u.now())
	}
	return made, err
}

// withPassword is limited for a command that needs the user's password again.
func withPassword[T any](ctx context.Context, u *Users, who Current, password string, from Origin, run func(candidate) (T, error)) (T, error) {
	return limited(ctx, u, who, func(c candidate, by source) (none T, err error) {
		p := by.pair(c.state.ID, c.user.ID, string(c.user.Password))
		right, until, err := u.checkAgain(ctx, c, p, by, normal(password))
		switch {
		case err != nil:
			return none, err
		case right:
			return run(c)
		}
		return none, cmp.Or(u.recordFailure(context.WithoutCancel(ctx), c, false, from, by, until), refusalUntil(until, WrongCredentials))
	})
}

func (u *Users) checkAgain(ctx context.Context, c candidate, p pair, by source, password string) (right bool, until time.Time, err error) {
	permit, err := u.permit(ctx, by)
	if err != nil {
		return false, until, err
	}
	defer permit.Leave()
	if err := u.slowdown.waits(p, u.now()); err != nil {
		return false, until, err
	}
	matched, err := u.compare(ctx, permit, []candidate{c}, password, 1)
	if err == nil && len(matched) == 0 {
		until = u.slowdown.fail(p, u.now())
	}
	return len(matched) > 0, until, err
}
