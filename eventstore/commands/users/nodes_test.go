package users_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"payledger/domain/account"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/commands/users"
)

// TestSessionEndsOnEveryNode checks that a session of one node is valid on another one, and that each change that ends it ends it there at
// once.
func TestSessionEndsOnEveryNode(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.node(), r.node()
	ctx := t.Context()
	operator := account.RoleOperator
	for i, end := range []struct {
		name string
		end  func(who account.User, token, password string) error
	}{
		{"sign-out", func(_ account.User, token, _ string) error { return a.SignOut(ctx, token, origin(1)) }},
		{"removal", func(who account.User, _, _ string) error {
			_, err := a.accounts.RemoveUser(ctx, r.by(), who.ID)
			return err
		}},
		{"role", func(who account.User, _, _ string) error {
			_, _, err := a.accounts.ChangeUser(ctx, r.by(), who.ID, accounts.UserChange{Role: &operator})
			return err
		}},
		{"reset of the password", func(who account.User, _, _ string) error {
			_, _, err := a.accounts.ChangeUser(ctx, r.by(), who.ID, accounts.UserChange{ResetPassword: true})
			return err
		}},
		{"change of the password", func(_ account.User, token, password string) error {
			_, err := a.ChangePassword(ctx, a.current(token), users.PasswordChange{Old: password, New: "grape kettle sofa 91", Origin: origin(1)})
			return err
		}},
		{"second factor on and off", func(_ account.User, token, password string) error {
			secret, in := a.enable(token, password)
			if _, err := b.Session(ctx, in.Token); err != nil {
				return fmt.Errorf("the session of the confirmation: %w", err)
			}
			r.wait(30 * time.Second) // a code is accepted once
			_, err := a.DisableTOTP(ctx, a.current(in.Token), r.code(secret), origin(1))
			if _, ended := b.Session(ctx, in.Token); users.ReasonOf(ended) != users.SessionEnded {
				err = errors.Join(err, fmt.Errorf("after the second factor is off: %w", ended))
			}
			return err
		}},
	} {
		who, password := a.add(fmt.Sprintf("user-%d@example.com", i), account.RoleAuditor)
		token, second := a.signIn(who.Name, password, "").Token, b.signIn(who.Name, password, "").Token
		if got := b.current(token); got.User.ID != who.ID || users.Actor(got.User.ID) != "user:"+string(who.ID) {
			t.Errorf("%s: another node has the session of %+v", end.name, got.User)
		}
		if err := end.end(who, token, password); err != nil {
			t.Errorf("%s: %v", end.name, err)
		}
		_, err := b.Session(ctx, token)
		mustRefuse(t, end.name+", on another node", err, users.SessionEnded)
		_, err = b.Session(ctx, second)
		if end.name == "sign-out" {
			if err != nil {
				t.Errorf("the other session: %v", err)
			}
			continue
		}
		mustRefuse(t, end.name+", the other session", err, users.SessionEnded)
	}
}

// TestLockOverNodes: the failures of two nodes count together, and so they do after a restart. The lock is known on each, stops no session,
// and ends after 15 minutes.
func TestLockOverNodes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.node(), r.node()
	open := a.signIn("admin", r.made.DashboardPassword, "").Token
	nodes := []*node{a, b}
	for i := range account.MaxFailures {
		if i == 6 {
			nodes[0] = r.node() // a restart
		}
		_, err := nodes[i%2].try("Admin ", "wrong", "")
		want := users.WrongCredentials
		if i == account.MaxFailures-1 {
			want = users.LockedUser
		}
		mustRefuse(t, fmt.Sprintf("try %d", i+1), err, want)
	}
	for _, n := range []*node{a, b, nodes[0]} {
		_, err := n.try("admin", r.made.DashboardPassword, "")
		mustRefuse(t, "the right password while locked", err, users.LockedUser)
		var refusal *users.Refusal
		if errors.As(err, &refusal); !refusal.Until.Equal(r.now().Add(account.LockFor)) {
			t.Errorf("locked until %s at %s", refusal.Until, r.now())
		}
	}
	before := a.state(r.made.AccountID).Revision
	if _, err := b.Session(t.Context(), open); err != nil {
		t.Errorf("the session of the locked user: %v", err)
	}
	if _, err := b.try("admin", "wrong", ""); users.ReasonOf(err) != users.LockedUser || a.state(r.made.AccountID).Revision != before {
		t.Errorf("a failure while locked is recorded, or answered as %v", err)
	}
	r.wait(account.LockFor)
	b.signIn("admin", r.made.DashboardPassword, "")
	if u := a.user("admin"); u.Failures != 0 || !u.LockedUntil.IsZero() {
		t.Errorf("after the sign-in: %+v", u)
	}
}

// TestCodeOnceOverNodes: two nodes that check the same code at the same time accept it once.
func TestCodeOnceOverNodes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	nodes := []*node{r.node(), r.node()}
	secret, _ := nodes[0].enable(nodes[0].signIn("admin", r.made.DashboardPassword, "").Token, r.made.DashboardPassword)
	_, err := nodes[1].try("admin", r.made.DashboardPassword, r.code(secret))
	mustRefuse(t, "the code of the confirmation", err, users.CodeWrong)
	for round := range 5 {
		r.wait(30 * time.Second)
		code := r.code(secret)
		var wait sync.WaitGroup
		results := make([]error, 4)
		for i := range results {
			wait.Go(func() { _, results[i] = nodes[i%2].try("admin", r.made.DashboardPassword, code) })
		}
		wait.Wait()
		in := 0
		for _, err := range results {
			if err == nil {
				in++
			} else {
				mustRefuse(t, "the code again", err, users.CodeWrong)
			}
		}
		if in != 1 {
			t.Fatalf("round %d: a code was accepted %d times", round, in)
		}
	}
}

// TestGuessesAtOnce: many simultaneous wrong passwords on two nodes lock the user, and the right one among them begins no session after that.
func TestGuessesAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	nodes := []*node{r.node(), r.node()}
	var wait sync.WaitGroup
	for i := range 30 {
		wait.Go(func() {
			_, err := nodes[i%2].SignIn(t.Context(), users.SignInInput{Email: "admin", Password: fmt.Sprintf("wrong %d", i), Origin: origin(100 + i)})
			if reason := users.ReasonOf(err); reason != users.WrongCredentials && reason != users.LockedUser && reason != users.Busy {
				t.Errorf("guess %d: %v", i, err)
			}
		})
	}
	wait.Wait()
	_, err := nodes[0].try("admin", r.made.DashboardPassword, "")
	mustRefuse(t, "the right password", err, users.LockedUser)
	events := nodes[0].types()
	if n := count(events, "account.user_sign_in_failed"); n != account.MaxFailures-1 || count(events, "account.user_locked") != 1 {
		t.Errorf("%d failures and %d locks are recorded", n, count(events, "account.user_locked"))
	}
}
