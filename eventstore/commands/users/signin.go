package users

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"golang.org/x/text/unicode/norm"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/secrets"
	"payledger/eventstore/secrets/hashing"
)

// longestPassword bounds the work of a comparison, in bytes.
const longestPassword = 1024

// SignIn begins a session. A Refusal has the reason WrongCredentials, CodeNeeded, CodeWrong,
// LockedUser, TooManyTries, Busy, AccountNeeded or StepExpired.
func (u *Users) SignIn(ctx context.Context, in SignInInput) (SignedIn, error) {
	in.Password = normal(in.Password)
	from := u.source(in)
	if until := u.tries.take(from.limit, u.now()); !until.IsZero() {
		return SignedIn{}, &Refusal{Reason: TooManyTries, Until: until}
	}
	made, err := commands.Retry(func() (SignedIn, bool, error) {
		made, err := u.try(ctx, in, from)
		if ReasonOf(err) == SessionEnded { // removed just now
			err = refuse(WrongCredentials)
		}
		return made, domain.ReasonOf(err) == domain.ReasonConcurrentModification, err
	})
	if reason := ReasonOf(err); err == nil || reason == CodeNeeded || reason == AccountNeeded || reason == Busy {
		u.tries.giveBack(from.limit, u.now())
	} else if refusal, is := errors.AsType[*Refusal](err); is && reason == LockedUser && in.Step == "" && in.Account == "" {
		refusal.NameOnly = true
	}
	if err == nil {
		made.Device, err = u.deviceToken(made, in)
	}
	return made, err
}

func (u *Users) try(ctx context.Context, in SignInInput, from source) (SignedIn, error) {
	if in.Step != "" {
		return u.byStep(ctx, in, from)
	}
	return u.byPassword(ctx, in, from)
}

// normal returns a password in the form that is compared: keyboards write one character in
// different ways. A too long one becomes "".
func normal(password string) string {
	if len(password) > longestPassword {
		return ""
	}
	return norm.NFKC.String(password)
}

type candidate struct {
	state account.State
	user  account.User
}

func (u *Users) byPassword(ctx context.Context, in SignInInput, from source) (SignedIn, error) {
	found, err := u.candidates(ctx, in)
	if err != nil {
		return SignedIn{}, err
	}
	matched, failed, err := u.checkPassword(ctx, in, from, found)
	switch {
	case err != nil:
		return SignedIn{}, err
	case len(matched) == 0:
		if len(found) == 1 { // several: it is nobody's failure
			u.recordLater(ctx, found[0], in.Origin, from, failed)
		}
		return SignedIn{}, refusalUntil(failed, WrongCredentials)
	case len(matched) > 1:
		refusal := refuse(AccountNeeded)
		for _, c := range matched {
			refusal.Accounts = append(refusal.Accounts, AccountChoice{ID: c.state.ID, Name: c.state.Name})
		}
		return SignedIn{}, refusal
	}
	return u.enter(ctx, matched[0], in, from)
}

// checkPassword returns the candidates that the password belongs to. If there is none, failed is
// the end of the pair's wait, or zero: the failure counts before the next password of the pair is
// compared in the same lane.
func (u *Users) checkPassword(ctx context.Context, in SignInInput, from source, found []candidate) (matched []candidate, failed time.Time, err error) {
	p := typed(in, from, found)
	if err := u.slowdown.waits(p, u.now()); err != nil {
		return nil, failed, err
	}
	permit, err := u.permit(ctx, from)
	if err != nil {
		return nil, failed, err
	}
	defer permit.Leave()
	if err := u.slowdown.waits(p, u.now()); err != nil { // meanwhile
		return nil, failed, err
	}
	matched, err = u.compare(ctx, permit, found, in.Password, u.work(in))
	switch {
	case err != nil:
	case len(matched) == 0:
		failed = u.slowdown.fail(p, u.now())
	case u.slowdown.waits(p, u.now()) != nil: // the other lane
		return nil, failed, u.slowdown.waits(p, u.now())
	case len(found) == 1: // of several, a user must not end the wait for another one's password
		u.slowdown.clear(p)
	}
	return matched, failed, err
}

// typed returns the pair of a name as it was typed, with or without an account, and its source: for
// a name that nobody has as for others. A new password of the only user of the name begins a new
// count.
func typed(in SignInInput, from source, found []candidate) pair {
	password := ""
	if len(found) == 1 {
		password = string(found[0].user.Password)
	}
	return pairOf("name", string(in.Account), account.UserName(in.Email), password, from.id)
}

func (u *Users) permit(ctx context.Context, from source) (*hashing.Permit, error) {
	permit, err := u.Accounts.Hashing.Enter(ctx, from.by)
	if errors.Is(err, hashing.ErrBusy) {
		err = refuse(Busy)
	}
	return permit, err
}

func refusalUntil(until time.Time, otherwise Reason) error {
	if until.IsZero() {
		return refuse(otherwise)
	}
	return &Refusal{Reason: LockedUser, Until: until}
}

func (u *Users) byStep(ctx context.Context, in SignInInput, from source) (SignedIn, error) {
	c, ours := u.read(in.Step)
	if !ours || c.Checked == "" || !u.now().Before(c.Expires) {
		return SignedIn{}, refuse(StepExpired)
	}
	state, user, err := u.newest(ctx, c.Account, c.User)
	if ReasonOf(err) == SessionEnded || err == nil && user.Password != c.Checked { // removed, or another password
		return SignedIn{}, refuse(StepExpired)
	}
	if err != nil {
		return SignedIn{}, err
	}
	return u.enter(ctx, candidate{state, user}, in, from)
}

// candidates returns the newest states of the users of a name, or AccountNeeded if there are more
// than are compared. It reads as many accounts for a name that nobody has.
func (u *Users) candidates(ctx context.Context, in SignInInput) (found []candidate, err error) {
	var owners []domain.AccountID
	for _, a := range u.Directory() {
		if in.Account != "" && a.ID != in.Account {
			continue
		}
		if _, has := a.UserNamed(in.Email); has {
			owners = append(owners, a.ID)
		}
	}
	if len(owners) > MaxCandidates {
		return nil, refuse(AccountNeeded)
	}
	for _, id := range u.decoys(in, len(owners)) {
		if _, _, err := u.Newest(ctx, id); err != nil {
			return nil, err
		}
	}
	for _, id := range owners {
		state, known, err := u.Newest(ctx, id)
		if err != nil {
			return nil, err
		}
		if user, has := state.UserNamed(in.Email); known && has {
			found = append(found, candidate{state, user})
		}
	}
	return found, nil
}

// decoys returns the accounts that are read beside those of a name's owners: a read costs time, and
// fails while the account's shard fails. It is the account that the try names, for a name that
// nobody has there as for others; else accounts that nobody can foresee without the ledger's key.
func (u *Users) decoys(in SignInInput, owners int) (read []domain.AccountID) {
	directory, missing := u.Directory(), u.work(in)-owners
	if missing < 1 || len(directory) == 0 {
		return nil
	}
	if slices.ContainsFunc(directory, func(a account.State) bool { return a.ID == in.Account }) {
		return []domain.AccountID{in.Account}
	}
	first := binary.BigEndian.Uint32(u.mac([]byte("decoys of " + account.UserName(in.Email))))
	for n := range missing {
		read = append(read, directory[(int(first>>1)+n)%len(directory)].ID)
	}
	return read
}

// work returns the number of comparisons that each name costs: those of the most common name.
func (u *Users) work(in SignInInput) int {
	if in.Account != "" {
		return 1
	}
	names, most := map[string]int{}, 1
	for _, a := range u.Directory() {
		for _, user := range a.Users {
			names[account.UserName(user.Name)]++
			if n := names[account.UserName(user.Name)]; n <= MaxCandidates {
				most = max(most, n)
			}
		}
	}
	return most
}

// compare returns the candidates that the password belongs to. It costs work comparisons, or one of
// each candidate if these are more.
func (u *Users) compare(ctx context.Context, permit *hashing.Permit, open []candidate, password string, work int) (matched []candidate, err error) {
	for _, c := range open {
		verifier, err := u.Accounts.Secrets.Get(ctx, c.user.Password)
		if errors.Is(err, secrets.ErrGone) { // replaced just now
			return nil, eventstore.Overtaken()
		}
		if err != nil {
			return nil, err
		}
		permit.Hash(func() {
			if secrets.CheckPassword(verifier, password) {
				matched = append(matched, c)
			}
		})
	}
	for range work - len(open) {
		permit.Hash(func() { secrets.CheckPassword(secrets.NoPassword, password) })
	}
	return matched, nil
}

// recordFailure records a failure of a user for the account's audit log; until is the end of the
// source's wait. A flood of them is not recorded whole: it must not fill the log.
func (u *Users) recordFailure(ctx context.Context, c candidate, code bool, from Origin, by source, until time.Time) error {
	if !u.recorded.take(string(c.user.ID), u.now()).IsZero() {
		return nil
	}
	_, err := u.failed(ctx, c, account.FailSignIn{User: c.user.ID, Code: code, From: from.address(), Slows: by.id, Until: until}, from)
	return err
}

// recordTime bounds a record that nobody waits for.
const recordTime = 5 * time.Second

// recordLater records a wrong password of a sign-in after the answer: an answer that waited for the
// log would reveal that somebody has the name. The failure counts already (checkPassword).
func (u *Users) recordLater(ctx context.Context, c candidate, from Origin, by source, until time.Time) {
	ctx = context.WithoutCancel(ctx)
	u.Accounts.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, recordTime)
		defer cancel()
		if err := u.recordFailure(ctx, c, false, from, by, until); err != nil {
			u.Accounts.Logger.Error().Err(err).Str("accountId", string(c.state.ID)).Msg("a failed sign-in is not in the audit log")
		}
	})
}

func (u *Users) failed(ctx context.Context, c candidate, f account.FailSignIn, from Origin) (account.State, error) {
	by := from.caller(c.state.ID, "process:sign-in") // nobody proved to be the user
	state, err := u.record(ctx, by, func(state account.State, now time.Time) (account.Event, error) {
		f.At = now
		return account.DecideFailSignIn(state, f)
	})
	if ReasonOf(err) == SessionEnded { // removed meanwhile
		err = nil
	}
	return state, err
}

// enter begins the session of a user whose password is right, and whose code is right if one is
// needed.
func (u *Users) enter(ctx context.Context, c candidate, in SignInInput, from source) (SignedIn, error) {
	proof := account.Proof{Password: c.user.Password, TOTP: c.user.TOTP, Known: from.known()}
	if c.user.TOTP != "" {
		done, err := u.codes.begin(ctx)
		if err != nil {
			return SignedIn{}, err
		}
		defer done()
		if err := u.checkCode(ctx, c, in.Code, in.Origin, from, &proof); err != nil {
			return SignedIn{}, u.withStep(err, c)
		}
	}
	made, err := u.begin(ctx, c, in.Origin, func(state account.State, at time.Time, id domain.UserSessionID) (account.Event, error) {
		return account.DecideSignIn(state, account.SignIn{At: at, User: c.user.ID, Proof: proof, Session: id, From: in.address()})
	})
	if err == nil && c.user.TOTP != "" && from.known() {
		u.codeRight(c.state.ID, c.user.ID, from)
	}
	return made, u.withStep(err, c)
}

// withStep adds the step to a refusal that asks for a code. Another error, and nil, stays.
func (u *Users) withStep(err error, c candidate) error {
	r, refused := errors.AsType[*Refusal](err)
	if !refused || r.Reason != CodeNeeded && r.Reason != CodeWrong {
		return err
	}
	now := u.now().UTC()
	step, signErr := u.sign(claims{Account: c.state.ID, User: c.user.ID, Issued: now, Expires: now.Add(stepLife), Checked: c.user.Password})
	if signErr != nil {
		return signErr
	}
	return &Refusal{Reason: r.Reason, Step: step}
}
