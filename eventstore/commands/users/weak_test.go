package users_test

import (
	"errors"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/eventstore/commands/users"
	"payledger/eventstore/secrets"
)

// TestChangePassword: the old password is needed, and counts as a try; then only the new one signs
// in. All older sessions have ended.
func TestChangePassword(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := r.node()
	token := n.signIn("admin", r.made.DashboardPassword, "").Token
	const next = "grape kettle sofa 91"
	change := func(old, new string) (users.SignedIn, error) {
		return n.ChangePassword(t.Context(), n.current(token), users.PasswordChange{Old: old, New: new, Origin: origin(1)})
	}
	_, err := change("wrong", next)
	mustRefuse(t, "a wrong old password", err, users.WrongCredentials)
	if got := count(n.types(), failedType); got != 1 || n.user("admin").Failures != 0 {
		t.Errorf("%d failures are recorded, %d count for the user", got, n.user("admin").Failures)
	}
	in, err := change(r.made.DashboardPassword, next)
	if err != nil {
		t.Fatal(err)
	}
	n.current(in.Token)
	_, err = n.Session(t.Context(), token)
	mustRefuse(t, "the session before", err, users.SessionEnded)
	_, err = n.try("admin", r.made.DashboardPassword, "")
	mustRefuse(t, "the old password", err, users.WrongCredentials)
	n.signIn("admin", "ｇrape kettle sofa 91", "") // another way to write g
	if names := n.secretNames("password"); len(names) != 1 {
		t.Errorf("stored are %q", names)
	}
	verifier, err := n.vault.Get(t.Context(), n.user("admin").Password)
	if err != nil || !secrets.CheckPassword(verifier, next) {
		t.Errorf("the verifier: %v", err)
	}
	token = in.Token
	for range 9 {
		if _, err = change("wrong", next+" too"); users.ReasonOf(err) != users.WrongCredentials {
			t.Errorf("a wrong old password: %v", err)
		}
	}
	_, err = change("wrong", next+" too")
	mustRefuse(t, "ten wrong old passwords", err, users.LockedUser)
	_, err = change(next, next+" too")
	mustRefuse(t, "the right one of the session that guessed", err, users.LockedUser)
	token = n.signIn("admin", next, "").Token
	if _, err = change(next, next+" too"); err != nil {
		t.Errorf("the right one of another session: %v", err)
	}
}

// TestWeakPasswords checks that a short or a common password is refused with the reason, and that
// other passwords are accepted, with any characters.
func TestWeakPasswords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := r.node()
	who := n.current(n.signIn("admin", r.made.DashboardPassword, "").Token)
	who.User.Name, who.Account.Name = "ada.lovelace@shop.example", "North Wind"
	refused := func(password string) string {
		_, err := n.ChangePassword(t.Context(), who, users.PasswordChange{Old: "wrong", New: password, Origin: origin(1)})
		var e *domain.Error
		if errors.As(err, &e) && len(e.Violations) == 1 && e.Violations[0].Path == "$.newPassword" {
			return e.Violations[0].Description
		}
		mustRefuse(t, password, err, users.WrongCredentials) // the new one is good, the old one is wrong
		return ""
	}
	for _, weak := range []string{
		"passwordpassword", "Password12345", "P@ssw0rd2026!", "!!admin-admin!!", "administrator", "payledger2026", "payledger-Sandbox1"[:13], "letmeinletmein", "welcome12345", "Changeme12345",
		"aaaaaaaaaaaa", "abababababab", "abcabcabcabc", "123456789012", "098765432109", "qwertyuiop12", "Qwertzuiop123", "1q2w3e4r5t6y7u", "qwertyasdfgh", "abcdefghijkl",
		"ada.lovelace", "Ada.Lovelace1", "north wind 1", "correcthorsebatterystaple", "            ", "111122223333",
	} {
		if text := refused(weak); !strings.Contains(text, "easy to guess") {
			t.Errorf("%q is refused with %q", weak, text)
		}
	}
	for _, length := range []string{"", "short", "elevenchars", strings.Repeat("grape kettle sofa 91", 13), strings.Repeat("x", 5000)} {
		if text := refused(length); text != "must have 12 to 256 characters" {
			t.Errorf("%.20q is refused with %q", length, text)
		}
	}
	if text := refused("wrong"); text == "" {
		t.Error("the same password is accepted")
	}
	r.wait(24 * 60 * 60 * 1e9)
	who = n.current(n.signIn("admin", r.made.DashboardPassword, "").Token)
	before := n.state(r.made.AccountID).Revision
	for i, good := range []string{
		"grape kettle sofa 91", "zvhkqlwmxtyb", "8273649182736455", "дерево стол окно", "password of the green elephant", r.made.DashboardPassword + "x",
	} {
		if text := refused(good); text != "" {
			t.Errorf("%q is refused with %q", good, text)
		}
		if got := n.state(r.made.AccountID).Revision - before; got != uint64(i+1) {
			t.Errorf("%d tries, %d events", i+1, got)
		}
	}
}
