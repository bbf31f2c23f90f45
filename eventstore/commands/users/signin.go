package users

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/secrets"
)

// longestPassword bounds the work of a comparison, in bytes.
const longestPassword = 1024

// SignIn begins a session. A Refusal has the reason WrongCredentials, CodeNeeded, CodeWrong, LockedUser, TooManyTries, Busy,
// AccountNeeded or StepExpired.
func (u *Users) SignIn(ctx context.Context, in SignInInput) (SignedIn, error) {
	if err := u.addresses.take(in.From, u.now()); err != nil {
		return SignedIn{}, err
	}
	made, err := u.admitted(ctx, in)
	if reason := ReasonOf(err); err == nil || reason == CodeNeeded || reason == AccountNeeded || reason == Busy {
		u.addresses.giveBack(in.From, u.now())
	} else if refusal, is := errors.AsType[*Refusal](err); is && reason == LockedUser && in.Step == "" && in.Account == "" {
		refusal.NameOnly = true
	}
	return made, err
}

func (u *Users) admitted(ctx context.Context, in SignInInput) (SignedIn, error) {
	in.Password = normal(in.Password)
	leave, err := u.gate.enter(ctx)
	if err != nil {
		return SignedIn{}, err
	}
	defer leave() // after the failure is recorded: the next comparison counts it
	return commands.Retry(func() (SignedIn, bool, error) {
		var made SignedIn
		var err error
		if in.Step == "" {
			made, err = u.byPassword(ctx, in)
		} else {
			made, err = u.byStep(ctx, in)
		}
		if ReasonOf(err) == SessionEnded { // removed just now
			err = refuse(WrongCredentials)
		}
		moved := domain.ReasonOf(err) == domain.ReasonConcurrentModification
		return made, moved, err
	})
}

// normal returns a password in the form that is compared: keyboards write one character in different ways. A too long one becomes "".
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

func (u *Users) byPassword(ctx context.Context, in SignInInput) (SignedIn, error) {
	found, err := u.candidates(ctx, in)
	if err != nil {
		return SignedIn{}, err
	}
	if len(found) == 0 {
		return SignedIn{}, u.refuseStranger(ctx, in)
	}
	now, shared := u.now(), in.Account == "" && len(found) > 1
	if shared {
		if err := u.names.locked("", in.Email, now); err != nil {
			return SignedIn{}, err
		}
	}
	open := slices.DeleteFunc(slices.Clone(found), func(c candidate) bool { return c.user.Locked(now) != nil })
	if len(open) == 0 {
		return SignedIn{}, refusalOf(found[0].user.Locked(now))
	}
	matched, err := u.compare(ctx, open, in.Password, u.work(in))
	switch {
	case err != nil:
		return SignedIn{}, err
	case len(matched) == 0 && shared:
		return SignedIn{}, u.failName(in)
	case shared && u.names.locked("", in.Email, u.now()) != nil: // meanwhile
		return SignedIn{}, u.names.locked("", in.Email, u.now())
	case len(matched) == 0:
		return SignedIn{}, u.fail(ctx, open, false, in.Origin)
	case len(matched) > 1:
		refusal := refuse(AccountNeeded)
		for _, c := range matched {
			refusal.Accounts = append(refusal.Accounts, AccountChoice{ID: c.state.ID, Name: c.state.Name})
		}
		return SignedIn{}, refusal
	}
	return u.enter(ctx, matched[0], in)
}

func (u *Users) byStep(ctx context.Context, in SignInInput) (SignedIn, error) {
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
	if err := user.Locked(u.now()); err != nil {
		return SignedIn{}, refusalOf(err)
	}
	return u.enter(ctx, candidate{state, user}, in)
}

// candidates returns the newest states of the users of a name, or AccountNeeded if there are more than are compared.
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

// compare returns the candidates that the password belongs to. It costs work comparisons, or one of each candidate if these are more.
func (u *Users) compare(ctx context.Context, open []candidate, password string, work int) (matched []candidate, err error) {
	for _, c := range open {
		verifier, err := u.Accounts.Secrets.Get(ctx, c.user.Password)
		if errors.Is(err, secrets.ErrGone) { // replaced just now
			return nil, eventstore.Overtaken()
		}
		if err != nil {
			return nil, err
		}
		if secrets.CheckPassword(verifier, password) {
			matched = append(matched, c)
		}
	}
	for range work - len(open) {
		secrets.CheckPassword(secrets.NoPassword, password)
	}
	return matched, nil
}

// refuseStranger answers an unknown name as a known one.
func (u *Users) refuseStranger(ctx context.Context, in SignInInput) error {
	if err := u.names.locked(in.Account, in.Email, u.now()); err != nil {
		return err
	}
	if _, err := u.compare(ctx, nil, in.Password, u.work(in)); err != nil {
		return err
	}
	return u.failName(in)
}

// failName counts a failure of a name that belongs to no one user, and returns the refusal.
func (u *Users) failName(in SignInInput) error {
	return cmp.Or(u.names.fail(in.Account, in.Email, u.now()), error(refuse(WrongCredentials)))
}

// fail records a failure of each candidate, even if the browser has gone, and returns the refusal.
func (u *Users) fail(ctx context.Context, failed []candidate, code bool, from Origin) error {
	ctx = context.WithoutCancel(ctx)
	refusal := error(refuse(WrongCredentials))
	for _, c := range failed {
		at := time.Time{}
		by := from.caller(c.state.ID, "process:sign-in") // nobody proved to be the user
		state, err := u.record(ctx, by, func(state account.State, now time.Time) (account.Event, error) {
			at = now
			return account.DecideFailSignIn(state, account.FailSignIn{At: now, User: c.user.ID, Code: code, From: from.address()})
		})
		user, _ := state.User(c.user.ID)
		switch locked := refusalOf(user.Locked(at)); {
		case ReasonOf(err) == SessionEnded: // removed meanwhile
		case err != nil:
			return err
		case locked != nil:
			refusal = locked
		}
	}
	return refusal
}

// enter begins the session of a user whose password is right, and whose code is right if one is needed.
func (u *Users) enter(ctx context.Context, c candidate, in SignInInput) (SignedIn, error) {
	proof := account.Proof{Password: c.user.Password, TOTP: c.user.TOTP}
	if c.user.TOTP != "" {
		counter, err := u.checkCode(ctx, c, in.Code, in.Origin)
		if err != nil {
			return SignedIn{}, u.withStep(err, c)
		}
		proof.TOTPCounter = counter
	}
	made, err := u.begin(ctx, c, in.Origin, func(state account.State, at time.Time, id domain.UserSessionID) (account.Event, error) {
		return account.DecideSignIn(state, account.SignIn{At: at, User: c.user.ID, Proof: proof, Session: id, From: in.address()})
	})
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

// checkCode returns the counter of a code. A wrong code is recorded as a failure.
func (u *Users) checkCode(ctx context.Context, c candidate, code string, from Origin) (uint64, error) {
	if code = strings.Join(strings.Fields(code), ""); code == "" {
		return 0, refuse(CodeNeeded)
	}
	secret, err := u.Accounts.Secrets.Get(ctx, c.user.TOTP)
	if errors.Is(err, secrets.ErrGone) { // turned off just now
		return 0, eventstore.Overtaken()
	}
	if err != nil {
		return 0, err
	}
	if counter, right := matchCode(secret, code, u.now()); right { // the decision refuses one that was used before
		return counter, nil
	}
	return 0, u.failCode(ctx, c, from)
}

func (u *Users) failCode(ctx context.Context, c candidate, from Origin) error {
	err := u.fail(ctx, []candidate{c}, true, from)
	if ReasonOf(err) == WrongCredentials {
		err = refuse(CodeWrong)
	}
	return err
}
