package users_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain/account"
	"payledger/eventstore/commands/users"
)

// TestSecondFactor: after the right password a code is needed. It may come with the password, or
// with the step that the refusal has. Wrong codes lock.
func TestSecondFactor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := r.node()
	secret, _ := n.enable(n.signIn("admin", r.made.DashboardPassword, "").Token, r.made.DashboardPassword)
	r.wait(time.Minute)
	_, err := n.try("admin", "wrong", r.code(secret))
	mustRefuse(t, "a wrong password with a right code", err, users.WrongCredentials)
	n.signIn("admin", r.made.DashboardPassword, r.code(secret)[:3]+" "+r.code(secret)[3:])

	r.wait(time.Minute)
	var needed *users.Refusal
	if _, err = n.try("admin", r.made.DashboardPassword, ""); !errors.As(err, &needed) || needed.Reason != users.CodeNeeded || needed.Step == "" {
		t.Fatalf("the password alone: %v", err)
	}
	if _, err := n.Session(t.Context(), needed.Step); users.ReasonOf(err) != users.NoSession {
		t.Errorf("the step is a session: %v", err)
	}
	step := func(step, code string) (users.SignedIn, error) {
		return n.SignIn(t.Context(), users.SignInInput{Step: step, Code: code, Origin: origin(1)})
	}
	_, err = step(needed.Step, "000000")
	mustRefuse(t, "a wrong code", err, users.CodeWrong)
	in, err := step(needed.Step, r.code(secret))
	if err != nil || in.User.Name != "admin" {
		t.Errorf("the step with the code: %+v, %v", in, err)
	}
	_, err = step(in.Token, r.code(secret))
	mustRefuse(t, "a session as a step", err, users.StepExpired)
	for i := range account.MaxFailures {
		_, err = n.SignIn(t.Context(), users.SignInInput{Step: needed.Step, Code: "000000", Origin: origin(2)})
		if want := users.CodeWrong; i < account.MaxFailures-1 {
			mustRefuse(t, "a wrong code", err, want)
		}
	}
	mustRefuse(t, "the tenth wrong code", err, users.LockedUser)
	r.wait(account.LockFor)
	_, err = step(needed.Step, r.code(secret))
	mustRefuse(t, "the step, much later", err, users.StepExpired)
	_, err = step(needed.Step[1:], r.code(secret))
	mustRefuse(t, "a forged step", err, users.StepExpired)
}

// TestFactorSecret: the secret is in the otpauth URI that apps read, under the user's name.
func TestFactorSecret(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := r.node()
	token := n.signIn("admin", r.made.DashboardPassword, "").Token
	ctx := t.Context()
	_, err := n.ConfirmTOTP(ctx, n.current(token), "123456", origin(1))
	mustRefuse(t, "a confirmation of nothing", err, users.FactorOff)
	_, err = n.DisableTOTP(ctx, n.current(token), "123456", origin(1))
	mustRefuse(t, "off before on", err, users.FactorOff)
	_, err = n.BeginTOTP(ctx, n.current(token), "wrong", origin(1))
	mustRefuse(t, "a secret with a wrong password", err, users.WrongCredentials)
	first, err := n.BeginTOTP(ctx, n.current(token), r.made.DashboardPassword, origin(1))
	if err != nil {
		t.Fatal(err)
	}
	uri, err := url.Parse(first.URI)
	if err != nil || uri.Scheme != "otpauth" || uri.Host != "totp" || uri.Query().Get("secret") != first.Secret || !strings.HasSuffix(uri.Path, ":admin") || len(first.Secret) != 32 {
		t.Errorf("%+v, %v", first, err)
	}
	if n.user("admin").TOTP != "" {
		t.Error("the secret is in force before its confirmation")
	}
	second, err := n.BeginTOTP(ctx, n.current(token), r.made.DashboardPassword, origin(1))
	if err != nil {
		t.Fatal(err)
	}
	_, err = n.ConfirmTOTP(ctx, n.current(token), r.code(first.Secret), origin(1))
	mustRefuse(t, "a code of the replaced secret", err, users.CodeWrong)
	in, err := n.ConfirmTOTP(ctx, n.current(token), r.code(second.Secret), origin(1))
	if err != nil {
		t.Fatal(err)
	}
	if names := n.secretNames("totp"); len(names) != 1 {
		t.Errorf("stored are %q", names)
	}
	_, err = n.BeginTOTP(ctx, n.current(in.Token), r.made.DashboardPassword, origin(1))
	mustRefuse(t, "a second one", err, users.FactorOn)
	_, err = n.ConfirmTOTP(ctx, n.current(in.Token), r.code(second.Secret), origin(1))
	mustRefuse(t, "a confirmation again", err, users.FactorOn)
}

// secretNames are the names of the stored secrets of a kind.
func (n *node) secretNames(kind string) []string {
	n.r.t.Helper()
	values, err := n.store.OpenSecrets(context.Background())
	if err != nil {
		n.r.t.Fatal(err)
	}
	names, err := values.Names(context.Background(), kind)
	if err != nil {
		n.r.t.Fatal(err)
	}
	return names
}

// TestFactorGuesses: wrong codes for a secret that waits for its confirmation stop the session that
// gave them, and a right code does not help then.
func TestFactorGuesses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := r.node()
	token := n.signIn("admin", r.made.DashboardPassword, "").Token
	factor, err := n.BeginTOTP(t.Context(), n.current(token), r.made.DashboardPassword, origin(1))
	if err != nil {
		t.Fatal(err)
	}
	for i := range account.MaxFailures {
		_, err = n.ConfirmTOTP(t.Context(), n.current(token), "000000", origin(2))
		if i < account.MaxFailures-1 {
			mustRefuse(t, "a wrong code", err, users.CodeWrong)
		}
	}
	mustRefuse(t, "the tenth wrong code", err, users.LockedUser)
	_, err = n.ConfirmTOTP(t.Context(), n.current(token), r.code(factor.Secret), origin(3))
	mustRefuse(t, "a right code of the session that guessed", err, users.LockedUser)
	other := n.signIn("admin", r.made.DashboardPassword, "").Token
	if _, err := n.ConfirmTOTP(t.Context(), n.current(other), "000000", origin(2)); users.ReasonOf(err) != users.CodeWrong {
		t.Errorf("a wrong code of another session: %v", err)
	}
	r.wait(account.LockFor)
	if _, err = n.ConfirmTOTP(t.Context(), n.current(token), r.code(factor.Secret), origin(1)); err != nil {
		t.Errorf("a right code after the lock: %v", err)
	}
}

// TestRecoveryCodes: each recovery code signs in once, on whichever node, beside the password; one
// turns the second factor off, and a new secret has other codes. A guess counts as a wrong code.
func TestRecoveryCodes(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	n, other := r.node(), r.node()
	secret, in := n.enable(n.signIn("admin", r.made.DashboardPassword, "").Token, r.made.DashboardPassword)
	codes := in.Recovery
	if unique := slices.Compact(slices.Sorted(slices.Values(codes))); len(unique) != account.RecoveryCodes {
		t.Fatalf("the codes are %q", codes)
	}
	for i, code := range codes[:account.RecoveryCodes-1] {
		if i%2 == 1 {
			code = strings.ReplaceAll(code, "-", " – ")
		}
		n.signIn("admin", r.made.DashboardPassword, code)
		_, err := other.try("admin", r.made.DashboardPassword, codes[i])
		mustRefuse(t, "a used recovery code", err, users.CodeWrong)
	}
	_, err := n.try("admin", "wrong", codes[account.RecoveryCodes-1])
	mustRefuse(t, "a recovery code without the password", err, users.WrongCredentials)
	r.wait(time.Minute)
	in = n.signIn("admin", r.made.DashboardPassword, r.code(secret))
	if in.User.RecoveryLeft() != 1 || in.Recovery != nil {
		t.Errorf("%d are left, shown again: %q", in.User.RecoveryLeft(), in.Recovery)
	}
	off, err := n.DisableTOTP(t.Context(), n.current(in.Token), codes[account.RecoveryCodes-1], origin(1))
	if err != nil {
		t.Fatal(err)
	}
	_, in = n.enable(off.Token, r.made.DashboardPassword)
	_, err = n.try("admin", r.made.DashboardPassword, codes[account.RecoveryCodes-1])
	mustRefuse(t, "a recovery code of the old secret", err, users.CodeWrong)
	for range account.MaxFailures - 2 {
		_, err = n.try("admin", r.made.DashboardPassword, "00000-00000")
		mustRefuse(t, "a guess", err, users.CodeWrong)
	}
	_, err = n.try("admin", r.made.DashboardPassword, "00000-00000")
	mustRefuse(t, "one guess too many", err, users.LockedUser)
}
