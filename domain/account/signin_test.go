package account_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
)

func signIn(user domain.UserID, session domain.UserSessionID, when time.Time, p account.Proof) func(account.State) (account.Event, error) {
	return func(s account.State) (account.Event, error) {
		return account.DecideSignIn(s, account.SignIn{At: when, User: user, Session: session, Proof: p, From: "192.0.2.1"})
	}
}

func fail(when time.Time) func(account.State) (account.Event, error) {
	return func(s account.State) (account.Event, error) {
		return account.DecideFailSignIn(s, account.FailSignIn{At: when, User: "user-1"})
	}
}

// first is the first user's proof of identity. The user's password is the one in created.
var first = account.Proof{Password: "secret-2"}

// TestLock: ten wrong codes of new devices in a row lock; a sign-in, a lock's end and a day without
// one begin the count anew. While locked, even a right code begins no session, and no failure
// counts; a known device begins one. Failures of a network or a device lock nobody.
func TestLock(t *testing.T) {
	fails := func(s account.State, n int, when time.Time) account.State {
		for range n {
			s = do(t, s, fail(when))
		}
		return s
	}
	user := func(s account.State) account.User { u, _ := s.User("user-1"); return u }
	slow := func(s account.State) (account.Event, error) {
		return account.DecideFailSignIn(s, account.FailSignIn{At: at, User: "user-1", Slows: "192.0.2.0/24", Until: at.Add(account.LockFor)})
	}
	s := staffed(t)
	for range 2 * account.MaxFailures {
		s = do(t, s, slow)
	}
	if u := user(s); u.Failures != 0 || u.Locked(at) != nil {
		t.Errorf("after wrong passwords from a network: %+v", u)
	}
	s = fails(s, account.MaxFailures-1, at)
	if u := user(s); u.Locked(at) != nil || u.Failures != account.MaxFailures-1 {
		t.Fatalf("after nine: %+v", u)
	}
	if signedIn := do(t, s, signIn("user-1", "s", at, first)); user(signedIn).Failures != 0 || user(fails(signedIn, account.MaxFailures-1, at)).Locked(at) != nil {
		t.Errorf("after a sign-in: %+v", user(signedIn))
	}
	if u := user(fails(s, 1, at.Add(account.ForgetFailures))); u.Failures != 1 || u.Locked(at.Add(account.ForgetFailures)) != nil {
		t.Errorf("a day later: %+v", u)
	}
	last := at.Add(time.Hour)
	locked := fails(s, 1, last)
	end := last.Add(account.LockFor)
	for i := range locked.Users {
		locked.Users[i].TOTP = "totp.1"
	}
	code := first
	code.TOTP, code.TOTPCounter = "totp.1", 7
	known := code
	known.Known = true
	for _, decide := range []func(account.State) (account.Event, error){signIn("user-1", "s", end.Add(-1), code), fail(end.Add(-1))} {
		var refusal *account.Locked
		if e, err := decide(locked); e != nil || !errors.As(err, &refusal) || !refusal.Until.Equal(end) {
			t.Errorf("while locked: %v, %v", e, err)
		}
	}
	do(t, locked, signIn("user-1", "s", end.Add(-1), known))
	do(t, locked, slow)
	do(t, locked, signIn("user-1", "s", end, code))
	if u := user(fails(locked, account.MaxFailures-1, end)); u.Locked(end) != nil {
		t.Errorf("nine failures after the lock: %+v", u)
	}
	for name, e := range map[string]account.Event{
		"reset":  account.UserPasswordReset{At: last, User: "user-1", Password: "secret-3"},
		"change": account.UserPasswordChanged{At: last, User: "user-1", Password: "secret-3", Session: "s", ExpiresAt: end},
	} {
		if u := user(account.Evolve(locked, e)); u.Locked(last) != nil || u.Failures != 0 {
			t.Errorf("after the %s of the password: %+v", name, u)
		}
	}
}

// TestSessions checks that a session lasts 12 hours, that a user's sixth session ends the oldest,
// and that expired sessions of all users leave the state.
func TestSessions(t *testing.T) {
	s := staffed(t, auditor("user-2", "ada@shop.example"))
	s = do(t, s, signIn("user-2", "other", at, account.Proof{Password: "password.acct.user-2"}))
	id := func(i int) domain.UserSessionID { return domain.UserSessionID(fmt.Sprint("s", i)) }
	for i := range account.MaxUserSessions + 1 {
		s = do(t, s, signIn("user-1", id(i), at.Add(time.Duration(i)*time.Minute), first))
	}
	soon := at.Add(time.Hour)
	for i := range account.MaxUserSessions + 1 {
		if _, open := s.UserSession("user-1", id(i), soon); open != (i > 0) {
			t.Errorf("session %d is open: %t", i, open)
		}
	}
	if _, open := s.UserSession("user-2", "s1", soon); open {
		t.Error("a session is another user's")
	}
	if o, open := s.UserSession("user-2", "other", at.Add(account.SessionLife-1)); !open || o != (account.UserSession{ID: "other", User: "user-2", At: at, ExpiresAt: at.Add(account.SessionLife)}) {
		t.Errorf("the other user's session: %+v", o)
	}
	if _, open := s.UserSession("user-2", "other", at.Add(account.SessionLife)); open {
		t.Error("a session is open after 12 hours")
	}
	out := func(s account.State) (account.Event, error) {
		return account.DecideSignOut(s, account.SignOut{At: soon, User: "user-1", Session: "s3"})
	}
	s = do(t, s, out)
	if e, err := out(s); e != nil || err != nil {
		t.Errorf("a second sign-out: %v, %v", e, err)
	}
	if n := len(s.UserSessions); n != account.MaxUserSessions {
		t.Errorf("%d sessions", n)
	}
	s = do(t, s, signIn("user-1", "next", at.Add(account.SessionLife), first))
	if got := s.UserSessions[len(s.UserSessions)-1]; len(s.UserSessions) != 5 || got.ID != "next" || s.UserSessions[0].ID != "s1" {
		t.Errorf("after 12 hours: %+v", s.UserSessions)
	}
}

// newest returns the newest session; "" if there is none.
func newest(s account.State) domain.UserSessionID {
	if len(s.UserSessions) == 0 {
		return ""
	}
	return s.UserSessions[len(s.UserSessions)-1].ID
}

// TestEndedSession: a command of a session that has ended meanwhile begins no new one, and a reset
// of the password drops a secret that waits for its confirmation.
func TestEndedSession(t *testing.T) {
	s := do(t, staffed(t), signIn("user-1", "stolen", at, first))
	proof := account.Proof{Password: "secret-2", TOTP: "totp.1", TOTPCounter: 101}
	password := func(s account.State) (account.Event, error) {
		return account.DecideChangeUserPassword(s, account.ChangeUserPassword{
			UserPasswordChanged: account.UserPasswordChanged{At: at, User: "user-1", Password: "secret-3", Session: "new"}, Replaces: "secret-2", By: "stolen",
		})
	}
	enable := func(s account.State) (account.Event, error) {
		return account.DecideEnableUserTOTP(s, account.EnableUserTOTP{
			UserTOTPEnabled: account.UserTOTPEnabled{At: at, User: "user-1", TOTP: "totp.1", TOTPCounter: 100, Session: "new"}, By: "stolen",
		})
	}
	disable := func(s account.State) (account.Event, error) {
		return account.DecideDisableUserTOTP(s, account.DisableUserTOTP{At: at, User: "user-1", Proof: &proof, By: "stolen", Session: "new"})
	}
	begun := do(t, s, func(s account.State) (account.Event, error) {
		return account.DecideBeginUserTOTP(s, account.BeginUserTOTP{UserTOTPBegun: account.UserTOTPBegun{At: at, User: "user-1", TOTP: "totp.1"}, Proof: first})
	})
	end := func(s account.State) account.State {
		return account.Evolve(s, account.UserSignedOut{At: at, User: "user-1", Session: "stolen"})
	}
	on := account.Evolve(account.Evolve(begun, account.UserTOTPEnabled{At: at, User: "user-1", TOTP: "totp.1", TOTPCounter: 100, Session: "s", ExpiresAt: at.Add(time.Hour)}),
		account.UserSignedIn{At: at, User: "user-1", Session: "stolen", ExpiresAt: at.Add(time.Hour)})
	for what, c := range map[string]struct {
		state  account.State
		decide func(account.State) (account.Event, error)
	}{"password": {s, password}, "enable": {begun, enable}, "disable": {on, disable}} {
		if e, err := c.decide(c.state); e == nil || err != nil {
			t.Errorf("%s of an open session: %v, %v", what, e, err)
		}
		if e, err := c.decide(end(c.state)); e != nil || domain.ReasonOf(err) != domain.ReasonEntityNotFound {
			t.Errorf("%s of an ended session: %v, %v", what, e, err)
		}
	}
	reset := account.Evolve(begun, account.UserPasswordReset{At: at, User: "user-1", Password: "secret-4"})
	if u, _ := reset.User("user-1"); u.TOTPBegun != "" || u.TOTPLast != "totp.1" {
		t.Errorf("after a reset: %+v", u)
	}
}

// TestProof: a sign-in with a secret that was replaced meanwhile, or with a code that was used, is
// refused.
func TestProof(t *testing.T) {
	begin := func(name domain.SecretID) func(account.State) (account.Event, error) {
		return func(s account.State) (account.Event, error) {
			return account.DecideBeginUserTOTP(s, account.BeginUserTOTP{UserTOTPBegun: account.UserTOTPBegun{At: at, User: "user-1", TOTP: name}, Proof: first})
		}
	}
	enable := func(name domain.SecretID) func(account.State) (account.Event, error) {
		return func(s account.State) (account.Event, error) {
			return account.DecideEnableUserTOTP(s, account.EnableUserTOTP{
				UserTOTPEnabled: account.UserTOTPEnabled{At: at, User: "user-1", TOTP: name, TOTPCounter: 100, Session: "s"}, By: newest(s),
			})
		}
	}
	disable := func(p *account.Proof) func(account.State) (account.Event, error) {
		return func(s account.State) (account.Event, error) {
			return account.DecideDisableUserTOTP(s, account.DisableUserTOTP{At: at, User: "user-1", Proof: p, By: newest(s), Session: "off"})
		}
	}
	s := staffed(t)
	if e, err := disable(nil)(s); e != nil || err != nil {
		t.Errorf("off before on: %v, %v", e, err)
	}
	s = do(t, do(t, s, begin("totp.1")), begin("totp.2"))
	conflict := func(what string, s account.State, decide func(account.State) (account.Event, error)) {
		t.Helper()
		if e, err := decide(s); e != nil || domain.ReasonOf(err) != domain.ReasonConcurrentModification {
			t.Errorf("%s: %v, %v", what, e, err)
		}
	}
	conflict("a replaced secret", s, enable("totp.1"))
	conflict("no secret", s, enable(""))
	do(t, s, signIn("user-1", "before", at, first)) // it is not in force
	s = do(t, do(t, s, signIn("user-1", "before", at, first)), enable("totp.2"))
	u, _ := s.User("user-1")
	if u.TOTP != "totp.2" || u.TOTPBegun != "" || u.TOTPLast != "totp.2" || u.TOTPCounter != 100 || len(s.UserSessions) != 1 || s.UserSessions[0].ID != "s" {
		t.Errorf("on: %+v, sessions %+v", u, s.UserSessions)
	}
	if e, err := begin("totp.3")(s); e != nil || !errors.Is(err, account.ErrTOTPOn) {
		t.Errorf("a second one: %v, %v", e, err)
	}
	code := func(counter uint64) account.Proof {
		return account.Proof{Password: "secret-2", TOTP: "totp.2", TOTPCounter: counter}
	}
	conflict("without a code", s, signIn("user-1", "x", at, first))
	conflict("a code of the old secret", s, signIn("user-1", "x", at, account.Proof{Password: "secret-2", TOTP: "totp.1", TOTPCounter: 101}))
	conflict("an old password", s, signIn("user-1", "x", at, account.Proof{Password: "secret-1", TOTP: "totp.2", TOTPCounter: 101}))
	for _, used := range []uint64{99, 100} {
		if e, err := signIn("user-1", "x", at, code(used))(s); e != nil || !errors.Is(err, account.ErrCodeUsed) {
			t.Errorf("the code %d: %v, %v", used, e, err)
		}
	}
	s = do(t, s, signIn("user-1", "x", at, code(101)))
	used := code(101)
	if e, err := disable(&used)(s); e != nil || !errors.Is(err, account.ErrCodeUsed) {
		t.Errorf("off with a used code: %v, %v", e, err)
	}
	recovery := func(number uint64) account.Proof {
		return account.Proof{Password: "secret-2", TOTP: "totp.2", Recovery: number}
	}
	recovered := do(t, s, signIn("user-1", "x", at, recovery(8)))
	if u, _ := recovered.User("user-1"); u.RecoveryLeft() != account.RecoveryCodes-1 || u.TOTPCounter != 101 {
		t.Errorf("after a recovery code: %+v", u)
	}
	if e, err := signIn("user-1", "x", at, recovery(8))(recovered); e != nil || !errors.Is(err, account.ErrCodeUsed) {
		t.Errorf("a used recovery code: %v, %v", e, err)
	}
	do(t, recovered, signIn("user-1", "x", at, recovery(1)))
	last := recovery(7)
	again := do(t, do(t, do(t, recovered, disable(&last)), begin("totp.3")), enable("totp.3"))
	if u, _ := again.User("user-1"); u.RecoveryLeft() != account.RecoveryCodes {
		t.Errorf("with a new secret: %+v", u)
	}
	next := code(102)
	off := do(t, s, disable(&next))
	if u, _ := off.User("user-1"); u.TOTP != "" || u.TOTPLast != "totp.2" || len(off.UserSessions) != 1 || off.UserSessions[0].ID != "off" {
		t.Errorf("off by the user: %+v, sessions %+v", u, off.UserSessions)
	}
	if byAdmin := do(t, s, disable(nil)); len(byAdmin.UserSessions) != 0 {
		t.Errorf("off by an admin: sessions %+v", byAdmin.UserSessions)
	}
	for what, decide := range map[string]func(account.State) (account.Event, error){
		"sign-in": func(s account.State) (account.Event, error) {
			return account.DecideSignIn(s, account.SignIn{User: "x"})
		},
		"failure": func(s account.State) (account.Event, error) {
			return account.DecideFailSignIn(s, account.FailSignIn{User: "x"})
		},
		"begin": func(s account.State) (account.Event, error) {
			return account.DecideBeginUserTOTP(s, account.BeginUserTOTP{UserTOTPBegun: account.UserTOTPBegun{User: "x"}})
		},
		"enable": func(s account.State) (account.Event, error) {
			return account.DecideEnableUserTOTP(s, account.EnableUserTOTP{UserTOTPEnabled: account.UserTOTPEnabled{User: "x"}})
		},
		"disable": func(s account.State) (account.Event, error) {
			return account.DecideDisableUserTOTP(s, account.DisableUserTOTP{User: "x"})
		},
		"password": func(s account.State) (account.Event, error) {
			return account.DecideChangeUserPassword(s, account.ChangeUserPassword{UserPasswordChanged: account.UserPasswordChanged{User: "x"}})
		},
	} {
		if e, err := decide(s); e != nil || domain.ReasonOf(err) != domain.ReasonEntityNotFound {
			t.Errorf("%s of nobody: %v, %v", what, e, err)
		}
	}
}

// TestChangeUserPassword checks that the new password replaces the checked one. All earlier
// sessions end, and a new one begins.
func TestChangeUserPassword(t *testing.T) {
	s := do(t, staffed(t), signIn("user-1", "old", at, first))
	change := func(replaces domain.SecretID) func(account.State) (account.Event, error) {
		return func(s account.State) (account.Event, error) {
			return account.DecideChangeUserPassword(s, account.ChangeUserPassword{
				UserPasswordChanged: account.UserPasswordChanged{At: at, User: "user-1", Password: "secret-3", Session: "new"}, Replaces: replaces, By: newest(s),
			})
		}
	}
	if e, err := change("secret-1")(s); e != nil || domain.ReasonOf(err) != domain.ReasonConcurrentModification {
		t.Errorf("a change that was overtaken: %v, %v", e, err)
	}
	next := do(t, s, change("secret-2"))
	if u, _ := next.User("user-1"); u.Password != "secret-3" || len(next.UserSessions) != 1 || next.UserSessions[0].ID != "new" {
		t.Errorf("%+v, sessions %+v", u, next.UserSessions)
	}
	if u, _ := s.User("user-1"); u.Password != "secret-2" || s.UserSessions[0].ID != "old" {
		t.Error("the state handed out before has changed")
	}
	for range account.MaxFailures { // wrong codes of new devices do not stop a session
		s = do(t, s, fail(at))
	}
	do(t, s, change("secret-2"))
}
