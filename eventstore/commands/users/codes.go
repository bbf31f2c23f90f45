package users

import (
	"context"
	"errors"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
)

// oneAtATime lets one code at a time be checked and decided about: simultaneous guesses must not
// outrun the count of their failures.
type oneAtATime chan struct{}

func (t oneAtATime) begin(ctx context.Context) (done func(), err error) {
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// checkCode adds a right code to the proof: of the app, or one for recovery. A wrong code counts
// for the session or the known device, otherwise for the user: the caller knows the password, and
// six digits must not be guessed from many networks (D22.13).
func (u *Users) checkCode(ctx context.Context, c candidate, code string, origin Origin, from source, proof *account.Proof) error {
	if code = strings.Join(strings.Fields(code), ""); code == "" {
		return refuse(CodeNeeded)
	}
	if err := u.codeWaits(ctx, c, from); err != nil {
		return err
	}
	secret, err := u.Accounts.Secrets.Get(ctx, c.user.TOTP)
	if errors.Is(err, secrets.ErrGone) { // turned off just now
		return eventstore.Overtaken()
	}
	if err != nil {
		return err
	}
	right := false // the aggregate refuses a code that was used before
	if proof.TOTPCounter, right = matchCode(secret, code, u.now()); right {
		return nil
	}
	if proof.Recovery, right, err = matchRecovery(secret, code); right || err != nil {
		return err
	}
	return u.failCode(ctx, c, origin, from)
}

const byCode = "code" // what failures of pairs are about

// codeWaits returns the refusal if the source may not try a code now.
func (u *Users) codeWaits(ctx context.Context, c candidate, from source) error {
	if from.known() {
		return u.slowdown.waits(from.pair(c.state.ID, c.user.ID, byCode), u.now())
	}
	_, user, err := u.newest(ctx, c.state.ID, c.user.ID)
	if err != nil {
		return err
	}
	return refusalOf(user.Locked(u.now()))
}

// failCode records a wrong code, and returns the refusal.
func (u *Users) failCode(ctx context.Context, c candidate, origin Origin, from source) error {
	ctx = context.WithoutCancel(ctx) // it counts even if the browser has gone
	if from.known() {
		until := u.slowdown.fail(from.pair(c.state.ID, c.user.ID, byCode), u.now())
		if err := u.recordFailure(ctx, c, true, origin, from, until); err != nil {
			return err
		}
		return refusalUntil(until, CodeWrong)
	}
	state, err := u.failed(ctx, c, account.FailSignIn{User: c.user.ID, Code: true, From: origin.address()}, origin)
	if err != nil {
		return err
	}
	var until time.Time
	if user, _ := state.User(c.user.ID); user.Locked(u.now()) != nil {
		until = user.LockedUntil
	}
	return refusalUntil(until, CodeWrong)
}

// codeRight forgets the failures of a device or a session after a right code.
func (u *Users) codeRight(owner domain.AccountID, user domain.UserID, from source) {
	u.slowdown.clear(from.pair(owner, user, byCode))
}
