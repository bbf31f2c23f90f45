package users_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/commands/users"
)

// types are the types of the account's events.
func (n *node) types() []string {
	n.r.t.Helper()
	var types []string
	for _, e := range n.events() {
		types = append(types, e.Type)
	}
	return types
}

func (n *node) events() []*eventstore.Recorded {
	n.r.t.Helper()
	events, err := n.store.History(context.Background(), eventstore.Accounts.Key(n.r.made.AccountID, string(n.r.made.AccountID)))
	if err != nil {
		n.r.t.Fatal(err)
	}
	return events
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

// TestSignIn: the right name and password begin a session, in any case of the name; a wrong name and a wrong password have the same answer.
func TestSignIn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := r.node()
	in := n.signIn(" ADMIN", r.made.DashboardPassword, "")
	if in.Account != r.made.AccountID || in.User.Name != "admin" || !in.User.SignedInAt.Equal(r.now()) || !in.ExpiresAt.Equal(r.now().Add(users.Idle)) {
		t.Errorf("signed in as %+v", in)
	}
	who := n.current(in.Token)
	if who.Account.ID != r.made.AccountID || who.User != in.User || who.Renewed != "" {
		t.Errorf("the session is %+v", who)
	}
	_, wrong := n.try("admin", "wrong", "")
	_, unknown := n.try("nobody@example.com", "wrong", "")
	mustRefuse(t, "a wrong password", wrong, users.WrongCredentials)
	if unknown == nil || unknown.Error() != wrong.Error() {
		t.Errorf("a wrong password: %v; an unknown name: %v", wrong, unknown)
	}
	for range account.MaxFailures - 2 {
		_, unknown = n.try("nobody@example.com", "wrong", "")
		mustRefuse(t, "an unknown name", unknown, users.WrongCredentials)
	}
	_, unknown = n.SignIn(t.Context(), users.SignInInput{Email: "nobody@example.com", Password: "wrong", Origin: origin(2)})
	mustRefuse(t, "the tenth failure of an unknown name", unknown, users.LockedUser)
	if domain.ReasonOf(unknown) != domain.ReasonRateLimitExceeded {
		t.Errorf("for the API it is %v", domain.ReasonOf(unknown))
	}
}

// TestSignInIsRecorded: the account's events say who signed in or failed and from where, and nothing that signs in.
func TestSignInIsRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := r.node()
	token := n.signIn("admin", r.made.DashboardPassword, "").Token
	if _, err := n.try("admin", "my wrong password", ""); err == nil {
		t.Fatal("a wrong password signs in")
	}
	secret, in := n.enable(token, r.made.DashboardPassword)
	if err := n.SignOut(t.Context(), in.Token, origin(1)); err != nil {
		t.Fatal(err)
	}
	if err := n.SignOut(t.Context(), in.Token, origin(1)); err != nil {
		t.Errorf("a second sign-out: %v", err)
	}
	want := []string{
		"account.created", "account.user_signed_in", "account.user_sign_in_failed", "account.user_totp_begun", "account.user_totp_enabled", "account.user_signed_out",
	}
	if got := n.types(); !slices.Equal(got, want) {
		t.Errorf("recorded are %q", got)
	}
	user := "user:" + string(n.user("admin").ID)
	for _, e := range n.events()[1:] {
		wantActor := user
		if e.Type == "account.user_sign_in_failed" {
			wantActor = "process:sign-in"
		}
		if e.Actor != wantActor || e.CorrelationID != "request" || e.Type != "account.created" && !bytes.Contains(e.Body, []byte(address(1).String())) {
			t.Errorf("%s is by %s, request %s", e.Type, e.Actor, e.CorrelationID)
		}
		raw, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			t.Fatal(err)
		}
		for _, hidden := range []string{token, string(raw[:32]), secret, r.made.DashboardPassword, "my wrong password"} {
			if bytes.Contains(e.Body, []byte(hidden)) {
				t.Errorf("%s has %q in clear", e.Type, hidden)
			}
		}
	}
}

// TestSeveralAccounts: the password decides between users of one name in two accounts. If both have the same one, the account must be named.
// A failure counts for both; a success of one does not count against the other.
func TestSeveralAccounts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := r.node()
	other, err := accounts.Create(t.Context(), n.store, n.vault, n.accounts.Random, "second", account.Sandbox, "cli:account")
	if err != nil {
		t.Fatal(err)
	}
	n.all = append(n.all, other.AccountID)
	first, second := n.signIn("admin", r.made.DashboardPassword, ""), n.signIn("admin", other.DashboardPassword, "")
	if first.Account != r.made.AccountID || second.Account != other.AccountID {
		t.Errorf("signed in to %s and %s", first.Account, second.Account)
	}
	if _, err := n.try("admin", "wrong", ""); users.ReasonOf(err) != users.WrongCredentials {
		t.Error(err)
	}
	failures := func(id domain.AccountID) int64 { return n.state(id).Users[0].Failures }
	if failures(r.made.AccountID) != 0 || failures(other.AccountID) != 0 {
		t.Errorf("%d and %d failures", failures(r.made.AccountID), failures(other.AccountID))
	}
	n.signIn("admin", other.DashboardPassword, "")

	same := "grape kettle sofa 91"
	for _, c := range []struct {
		in  users.SignedIn
		old string
	}{{n.signIn("admin", r.made.DashboardPassword, ""), r.made.DashboardPassword}, {n.signIn("admin", other.DashboardPassword, ""), other.DashboardPassword}} {
		if _, err := n.ChangePassword(t.Context(), n.current(c.in.Token), users.PasswordChange{Old: c.old, New: same, Origin: origin(1)}); err != nil {
			t.Fatal(err)
		}
	}
	var refusal *users.Refusal
	if _, err := n.try("admin", same, ""); !errors.As(err, &refusal) || refusal.Reason != users.AccountNeeded || len(refusal.Accounts) != 2 {
		t.Fatalf("the same password in two accounts: %v", err)
	}
	in, err := n.SignIn(t.Context(), users.SignInInput{Email: "admin", Password: same, Account: refusal.Accounts[1].ID, Origin: origin(1)})
	if err != nil || in.Account != refusal.Accounts[1].ID || refusal.Accounts[1].Name != "second" {
		t.Errorf("with the account: %+v, %v", in, err)
	}
	for range users.MaxCandidates - 1 {
		more, err := accounts.Create(t.Context(), n.store, n.vault, n.accounts.Random, "more", account.Sandbox, "cli:account")
		if err != nil {
			t.Fatal(err)
		}
		n.all = append(n.all, more.AccountID)
	}
	_, err = n.try("admin", same, "")
	mustRefuse(t, "a name of too many accounts", err, users.AccountNeeded)
}

// TestSharedNameLocksNobody: wrong passwords for a name of several accounts, without the account, lock only further tries without it, even if one of the
// users signs in meanwhile.
func TestSharedNameLocksNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := r.node()
	other, err := accounts.Create(t.Context(), n.store, n.vault, n.accounts.Random, "second", account.Sandbox, "cli:account")
	if err != nil {
		t.Fatal(err)
	}
	n.all = append(n.all, other.AccountID)
	var refusal *users.Refusal
	for i := range account.MaxFailures {
		if i == account.MaxFailures-1 {
			n.signIn("admin", other.DashboardPassword, "")
		}
		_, err = n.SignIn(t.Context(), users.SignInInput{Email: "admin", Password: "wrong", Origin: origin(2)})
	}
	if !errors.As(err, &refusal) || refusal.Reason != users.LockedUser || !strings.Contains(refusal.Error(), "account's id") {
		t.Errorf("the tenth wrong password: %v", err)
	}
	_, err = n.try("admin", r.made.DashboardPassword, "")
	mustRefuse(t, "the right password without the account", err, users.LockedUser)
	for _, made := range []accounts.Credentials{r.made, other} {
		_, err := n.SignIn(t.Context(), users.SignInInput{Email: "admin", Password: made.DashboardPassword, Account: made.AccountID, Origin: origin(1)})
		mustRefuse(t, "the right password with the account", err, "")
	}
	r.wait(account.LockFor)
	for i := range account.MaxFailures { // the last failure is too late to count with the others
		if i == account.MaxFailures-1 {
			r.wait(time.Hour)
		}
		_, err = n.SignIn(t.Context(), users.SignInInput{Email: "admin", Password: "wrong", Origin: origin(3)})
	}
	mustRefuse(t, "the tenth wrong password, an hour later", err, users.WrongCredentials)
	n.signIn("admin", r.made.DashboardPassword, "")
	for range account.MaxFailures {
		_, err = n.SignIn(t.Context(), users.SignInInput{Email: "admin", Password: "wrong", Account: other.AccountID, Origin: origin(2)})
	}
	mustRefuse(t, "the tenth wrong password with the account", err, users.LockedUser)
}

// TestAddressLimit: an address has 20 tries at once and one more each 15 seconds; successful ones and other addresses do not count. All addresses
// of an IPv6 network count together.
func TestAddressLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := r.node()
	try := func(address, password string) error {
		_, err := n.SignIn(t.Context(), users.SignInInput{Email: "a-" + address, Password: password, Origin: users.Origin{From: netip.MustParseAddr(address)}})
		return err
	}
	for i := range users.AddressTries {
		if err := try([]string{"192.0.2.1", "::ffff:192.0.2.1"}[i%2], "wrong"); users.ReasonOf(err) == users.TooManyTries {
			t.Fatalf("try %d: %v", i, err)
		}
	}
	err := try("192.0.2.1", "wrong")
	var refusal *users.Refusal
	if !errors.As(err, &refusal) || refusal.Reason != users.TooManyTries || !refusal.Until.Equal(r.now().Add(15*time.Second)) {
		t.Errorf("one more: %v", err)
	}
	if err := try("192.0.2.2", "wrong"); users.ReasonOf(err) != users.WrongCredentials {
		t.Errorf("another address: %v", err)
	}
	r.wait(15 * time.Second)
	mustRefuse(t, "after 15 seconds", try("192.0.2.1", "wrong"), users.LockedUser)
	mustRefuse(t, "and again", try("192.0.2.1", "wrong"), users.TooManyTries)
	for range users.AddressTries + 5 {
		n.signIn("admin", r.made.DashboardPassword, "")
	}
	for i := range users.AddressTries {
		if err := try(netip.AddrFrom16([16]byte{0x20, 1, 15: byte(i)}).String(), "wrong"); users.ReasonOf(err) == users.TooManyTries {
			t.Fatal(err)
		}
	}
	mustRefuse(t, "the same network", try("2001::77:1", "wrong"), users.TooManyTries)
	mustRefuse(t, "another network", try("2001:0:0:1::1", "wrong"), users.WrongCredentials)
}

// TestTokens: a token expires an hour after it was issued; a used one is renewed, until 12 hours after the sign-in. A changed one is none.
func TestTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := r.node()
	token := n.signIn("admin", r.made.DashboardPassword, "").Token
	for i := range token {
		changed := []byte(token)
		changed[i] ^= 1
		if _, err := n.Session(t.Context(), string(changed)); users.ReasonOf(err) != users.NoSession {
			t.Fatalf("changed at %d: %v", i, err)
		}
	}
	for _, malformed := range []string{"", "x", token + "A", token[:len(token)-1], strings.Repeat("A", 2000), token + token} {
		if _, err := n.Session(t.Context(), malformed); users.ReasonOf(err) != users.NoSession {
			t.Errorf("%.20q: %v", malformed, err)
		}
		if err := n.SignOut(t.Context(), malformed, origin(1)); err != nil {
			t.Errorf("%.20q: %v", malformed, err)
		}
	}
	r.wait(users.Idle - time.Second)
	who := n.current(token)
	if who.Renewed == "" || !who.ExpiresAt.Equal(r.now().Add(users.Idle)) {
		t.Fatalf("a token of 59 minutes: %+v", who)
	}
	r.wait(time.Second)
	_, err := n.Session(t.Context(), token)
	mustRefuse(t, "a token of an hour", err, users.SessionExpired)
	for token = who.Renewed; ; {
		r.wait(50 * time.Minute)
		who, err := n.Session(t.Context(), token)
		if err != nil {
			mustRefuse(t, "after 12 hours", err, users.SessionExpired)
			break
		}
		if who.ExpiresAt.After(start.Add(account.SessionLife)) {
			t.Fatalf("the session goes on until %s", who.ExpiresAt)
		}
		token = who.Renewed
	}
	if r.now().Before(start.Add(account.SessionLife)) || r.now().After(start.Add(account.SessionLife+50*time.Minute)) {
		t.Errorf("the session ended at %s", r.now())
	}
	first := n.signIn("admin", r.made.DashboardPassword, "").Token
	for range account.MaxUserSessions {
		n.signIn("admin", r.made.DashboardPassword, "")
	}
	_, err = n.Session(t.Context(), first)
	mustRefuse(t, "the oldest of too many sessions", err, users.SessionEnded)
}
