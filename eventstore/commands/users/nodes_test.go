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

// TestSessionEndsOnEveryNode checks that a session of one node is valid on another one, and that
// each change that ends it ends it there at once.
func TestSessionEndsOnEveryNode(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
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

// TestCodeLockOverNodes: the wrong codes that two nodes get from new devices count together, and so
// they do after a restart: who gives them knows the password. The lock is known on each node. It
// stops no session, no device that the user has signed in on, and ends after 15 minutes.
func TestCodeLockOverNodes(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	a, b := r.node(), r.node()
	secret, open := a.enable(a.signIn("admin", r.made.DashboardPassword, "").Token, r.made.DashboardPassword)
	r.wait(30 * time.Second)
	device := a.signIn("admin", r.made.DashboardPassword, r.code(secret)).Device
	nodes := []*node{a, b}
	guess := func(n *node, net int, code string) error {
		_, err := n.SignIn(t.Context(), users.SignInInput{Email: "Admin ", Password: r.made.DashboardPassword, Code: code, Origin: origin(net << 8)})
		return err
	}
	for i := range account.MaxFailures {
		if i == 6 {
			nodes[0] = r.node() // a restart
		}
		want := users.CodeWrong
		if i == account.MaxFailures-1 {
			want = users.LockedUser
		}
		mustRefuse(t, fmt.Sprintf("guess %d", i+1), guess(nodes[i%2], i, "000000"), want)
	}
	r.wait(30 * time.Second)
	for _, n := range []*node{a, b, nodes[0]} {
		err := guess(n, 77, r.code(secret))
		mustRefuse(t, "the right code of a new device while locked", err, users.LockedUser)
		var refusal *users.Refusal
		if errors.As(err, &refusal); !refusal.Until.Equal(r.now().Add(account.LockFor - 30*time.Second)) {
			t.Errorf("locked until %s at %s", refusal.Until, r.now())
		}
	}
	before := a.state(r.made.AccountID).Revision
	if err := guess(b, 78, "000000"); users.ReasonOf(err) != users.LockedUser || a.state(r.made.AccountID).Revision != before {
		t.Errorf("a failure while locked is recorded, or answered as %v", err)
	}
	if _, err := b.Session(t.Context(), open.Token); err != nil {
		t.Errorf("the session of the locked user: %v", err)
	}
	if _, err := b.SignIn(t.Context(), users.SignInInput{Email: "admin", Password: r.made.DashboardPassword, Code: r.code(secret), Device: device, Origin: origin(9)}); err != nil {
		t.Errorf("a known device while new ones are locked: %v", err)
	}
	r.wait(account.LockFor)
	mustRefuse(t, "after the lock", guess(b, 77, r.code(secret)), "")
	if u := a.user("admin"); u.Failures != 0 || !u.LockedUntil.IsZero() {
		t.Errorf("after the sign-in: %+v", u)
	}
}

// TestCodeOnceOverNodes: two nodes that check the same code at the same time accept it once.
func TestCodeOnceOverNodes(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
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

// TestGuessesAtOnce: of many simultaneous wrong passwords from one network, on two nodes, each node
// compares ten and few more, and the right one among them begins no session after that. A user in
// another network signs in meanwhile.
func TestGuessesAtOnce(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	nodes := []*node{r.node(), r.node()}
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			_, err := nodes[i%2].SignIn(t.Context(), users.SignInInput{Email: "admin", Password: fmt.Sprintf("wrong %d", i), Origin: origin(i)})
			if reason := users.ReasonOf(err); reason != users.WrongCredentials && reason != users.LockedUser && reason != users.Busy {
				t.Errorf("guess %d: %v", i, err)
			}
		})
	}
	wait.Wait()
	for _, n := range nodes {
		for reason := users.WrongCredentials; reason != users.LockedUser; { // of the simultaneous ones a busy machine may have compared fewer
			_, err := n.SignIn(t.Context(), users.SignInInput{Email: "admin", Password: "wrong", Origin: origin(100)})
			if reason = users.ReasonOf(err); err == nil {
				t.Fatal("a wrong password began a session")
			}
		}
		_, err := n.SignIn(t.Context(), users.SignInInput{Email: "admin", Password: r.made.DashboardPassword, Origin: origin(200)})
		mustRefuse(t, "the right password from this network", err, users.LockedUser)
	}
	nodes[0].failures(2 * account.MaxFailures)
	if n := count(nodes[0].types(), failedType); n < 2*account.MaxFailures || n > 2*account.MaxFailures+2 {
		t.Errorf("%d failures are recorded", n)
	}
	if in, err := nodes[0].SignIn(t.Context(), users.SignInInput{Email: "admin", Password: r.made.DashboardPassword, Origin: origin(1 << 8)}); err != nil {
		t.Errorf("the right password from another network: %+v, %v", in, err)
	}
}
