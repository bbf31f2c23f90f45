package users_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
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

// failures waits until the log has as many failures of the account's users.
func (n *node) failures(want int) {
	n.r.t.Helper()
	shard := n.events()[0].Shard
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var seen []string
	enough := errors.New("enough")
	err := n.store.Subscribe(ctx, shard, 0, func(e *eventstore.Recorded) error {
		if seen = append(seen, e.Type); count(seen, failedType) == want {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		n.r.t.Fatalf("%d failures are not recorded: %q, %v", want, seen, err)
	}
}

const failedType = "account.user_sign_in_failed"

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

// TestSignIn: the right name and password begin a session, in any case of the name; a wrong name
// and a wrong password have the same answer.
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
	reads := func(name string) int64 {
		n.reads.Store(0)
		_, _ = n.try(name, "wrong", "")
		return n.reads.Load()
	}
	if known, unknown := reads("admin"), reads("else@example.com"); known == 0 || known != unknown {
		t.Errorf("a name costs %d reads of accounts, an unknown one %d", known, unknown)
	}
	n.failing = n.all
	_, wrong = n.try("admin", "wrong", "")
	_, unknown = n.try("else@example.com", "wrong", "")
	if n.failing = nil; wrong == nil || unknown == nil || wrong.Error() != unknown.Error() {
		t.Errorf("while the log fails: %v; an unknown name: %v", wrong, unknown)
	}
	for range account.MaxFailures - 2 {
		_, unknown = n.try("nobody@example.com", "wrong", "")
		mustRefuse(t, "an unknown name", unknown, users.WrongCredentials)
	}
	_, unknown = n.SignIn(t.Context(), users.SignInInput{Email: " Nobody@example.com", Password: "wrong", Origin: origin(2)})
	mustRefuse(t, "the tenth failure of an unknown name", unknown, users.LockedUser)
	if domain.ReasonOf(unknown) != domain.ReasonRateLimitExceeded {
		t.Errorf("for the API it is %v", domain.ReasonOf(unknown))
	}
}

// TestSignInIsRecorded: the account's events say who signed in or failed and from where, and
// nothing that signs in.
func TestSignInIsRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := r.node()
	token := n.signIn("admin", r.made.DashboardPassword, "").Token
	if _, err := n.try("admin", "my wrong password", ""); err == nil {
		t.Fatal("a wrong password signs in")
	}
	n.failures(1)
	secret, in := n.enable(token, r.made.DashboardPassword)
	if err := n.SignOut(t.Context(), in.Token, origin(1)); err != nil {
		t.Fatal(err)
	}
	if err := n.SignOut(t.Context(), in.Token, origin(1)); err != nil {
		t.Errorf("a second sign-out: %v", err)
	}
	want := []string{
		"account.created", "account.user_signed_in", failedType, "account.user_totp_begun", "account.user_totp_enabled", "account.user_signed_out",
	}
	if got := n.types(); !slices.Equal(got, want) {
		t.Errorf("recorded are %q", got)
	}
	user := "user:" + string(n.user("admin").ID)
	for _, e := range n.events()[1:] {
		wantActor := user
		if e.Type == failedType {
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

// TestSeveralAccounts: the password decides between users of one name in two accounts. If both have
// the same one, the account must be named. A failure counts for both; a success of one does not
// count against the other.
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

// TestNamesWhileAnAccountFails: while the log of one account fails, the answers reveal no name. A
// try with an account's id reads this account, whatever its name is.
func TestNamesWhileAnAccountFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := r.node()
	other, err := accounts.Create(t.Context(), n.store, n.vault, n.accounts.Random, "second", account.Sandbox, "cli:account")
	if err != nil {
		t.Fatal(err)
	}
	n.all = append(n.all, other.AccountID)
	fails := func(name string, id domain.AccountID, from int) bool {
		_, err := n.SignIn(t.Context(), users.SignInInput{Email: name, Password: "wrong", Account: id, Origin: origin(from)})
		return users.ReasonOf(err) != users.WrongCredentials
	}
	n.failing = n.all[:1]
	for i, name := range []string{"admin", "a@example.com", "b@example.com", "c@example.com", "d@example.com", "e@example.com"} {
		if !fails(name, r.made.AccountID, i) || fails(name, other.AccountID, i) {
			t.Errorf("%s: the answer depends on the name", name)
		}
	}
}

// TestStrangersLockNobody: wrong passwords from a network stop only this pair of name and network,
// whether the name is of one user, of several or of nobody, with and without the account's id,
// which a shopper's client token has (D22.13). The user signs in from another network, and on a
// known device from the same one.
func TestStrangersLockNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := r.node()
	home := n.signIn("admin", r.made.DashboardPassword, "").Device
	strangers := func(i int) users.Origin { return origin(i + 77<<8) }
	try := func(in users.SignInInput) (users.SignedIn, error) {
		return n.SignIn(t.Context(), in)
	}
	flood := func(what string, in users.SignInInput) {
		t.Helper()
		for i := range account.MaxFailures + 2 {
			in.Password, in.Origin = "wrong", strangers(i)
			want := users.WrongCredentials
			if i >= account.MaxFailures-1 {
				want = users.LockedUser
			}
			_, err := try(in)
			mustRefuse(t, fmt.Sprintf("%s, wrong password %d", what, i+1), err, want)
		}
	}
	flood("with the account", users.SignInInput{Email: "admin", Account: r.made.AccountID})
	flood("without it", users.SignInInput{Email: "ADMIN"})
	flood("nobody", users.SignInInput{Email: "nobody@example.com"})
	flood("nobody in the account", users.SignInInput{Email: "nobody@example.com", Account: r.made.AccountID})
	for _, id := range []domain.AccountID{"", r.made.AccountID} {
		right := users.SignInInput{Email: "admin", Password: r.made.DashboardPassword, Account: id, Origin: strangers(99)}
		_, err := try(right)
		mustRefuse(t, "the right password from the strangers' network", err, users.LockedUser)
		right.Device = home
		in, err := try(right)
		mustRefuse(t, "the right password on a known device in that network", err, "")
		if in.Device == "" {
			t.Error("the device has no next token")
		}
		right.Device, right.Origin = "", origin(1)
		_, err = try(right)
		mustRefuse(t, "the right password from another network", err, "")
	}
	other, err := accounts.Create(t.Context(), n.store, n.vault, n.accounts.Random, "second", account.Sandbox, "cli:account")
	if err != nil {
		t.Fatal(err)
	}
	n.all = append(n.all, other.AccountID)
	before := len(n.types())
	flood("of several", users.SignInInput{Email: "admin"})
	if len(n.types()) != before {
		t.Error("a failure of a name that several users have is recorded as one of a user")
	}
	for _, made := range []accounts.Credentials{r.made, other} {
		_, err := try(users.SignInInput{Email: "admin", Password: made.DashboardPassword, Origin: origin(1)})
		mustRefuse(t, "the right password of a name of several, from another network", err, "")
		_, err = try(users.SignInInput{Email: "admin", Password: made.DashboardPassword, Device: home, Origin: strangers(1)})
		mustRefuse(t, "on the known device of the first one", err, "")
	}
	if _, err := n.Session(t.Context(), home); users.ReasonOf(err) != users.NoSession {
		t.Errorf("the token of a device as a session: %v", err)
	}
}

// TestKnownDevice: wrong passwords of a known device count for the device. It is one of its user
// only, for 90 days, and a changed token is none.
func TestKnownDevice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := r.node()
	ada, password := n.add("ada@shop.example", account.RoleAuditor)
	device := n.signIn("admin", r.made.DashboardPassword, "").Device
	try := func(name, password, device string, net int) error {
		_, err := n.SignIn(t.Context(), users.SignInInput{Email: name, Password: password, Device: device, Origin: origin(net << 8)})
		return err
	}
	for range account.MaxFailures {
		_ = try(ada.Name, "wrong", device, 5)
		_ = try("admin", "wrong", device, 6)
	}
	mustRefuse(t, "another user, whose device it is not", try(ada.Name, password, device, 5), users.LockedUser)
	mustRefuse(t, "this user, from the network of the other", try(ada.Name, password, device, 6), "")
	mustRefuse(t, "its user on the device, elsewhere", try("admin", r.made.DashboardPassword, device, 7), users.LockedUser)
	mustRefuse(t, "its user on another device", try("admin", r.made.DashboardPassword, "", 6), "")
	mustRefuse(t, "with a changed token", try("admin", r.made.DashboardPassword, device[:len(device)-1], 6), "")
	_, _, err := n.accounts.ChangeUser(t.Context(), r.by(), n.user("admin").ID, accounts.UserChange{ResetPassword: true})
	if err != nil {
		t.Fatal(err)
	}
	mustRefuse(t, "on the device after a reset of the password", try("admin", r.made.DashboardPassword, device, 7), users.WrongCredentials)
	r.wait(users.DeviceLife)
	for range account.MaxFailures {
		_ = try("admin", "wrong", device, 8)
	}
	mustRefuse(t, "its network, 90 days later", try("admin", "wrong", "", 8), users.LockedUser)
}

// heldLog is a log whose appends wait.
type heldLog struct {
	eventstore.Store
	held chan struct{}
}

func (h *heldLog) ExecuteUntyped(ctx context.Context, c eventstore.Command) (eventstore.Tip[any], error) {
	<-h.held
	return h.Store.ExecuteUntyped(ctx, c)
}

// TestAnswerBeforeTheRecord: the answer to a wrong password does not wait for the log, as that for
// an unknown name: how long it takes must not reveal that somebody has the name. The failures count
// before they are recorded (D22.13).
func TestAnswerBeforeTheRecord(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := r.node()
	log := &heldLog{n.store, make(chan struct{})}
	n.accounts.Log = eventstore.NewRepositories(log)
	for i := range account.MaxFailures + 1 {
		want := users.WrongCredentials
		if i >= account.MaxFailures-1 {
			want = users.LockedUser
		}
		_, err := n.try("admin", "wrong", "")
		mustRefuse(t, fmt.Sprint("wrong password ", i+1), err, want)
	}
	if got := count(n.types(), failedType); got != 0 {
		t.Errorf("%d failures are recorded", got)
	}
	close(log.held)
	n.failures(account.MaxFailures)
}

// TestFloodIsNotRecorded: of a flood of wrong passwords for a user from many networks, the log gets
// a bounded number.
func TestFloodIsNotRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := r.node()
	for i := range 3 * users.MostRecorded {
		_, err := n.SignIn(t.Context(), users.SignInInput{Email: "admin", Password: "wrong", Origin: origin(i << 8)})
		mustRefuse(t, "a wrong password", err, users.WrongCredentials)
	}
	n.signIn("admin", r.made.DashboardPassword, "")
	n.accounts.Close() // waits for failures that are recorded after the answer
	if got := count(n.types(), failedType); got != users.MostRecorded {
		t.Errorf("%d failures are recorded", got)
	}
}

// TestAddressLimit: an address has 20 tries at once and one more each 15 seconds; successful ones
// and other addresses do not count. All addresses of an IPv6 network count together.
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

// TestTokens: a token expires an hour after it was issued; a used one is renewed, until 12 hours
// after the sign-in. A changed one is none.
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

// TestEndSessions: users end sessions of their own, and an administrator those of everybody, on all
// nodes at once. A session that has ended is no error, and an ended session ends none (D20).
func TestEndSessions(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	n, other := r.node(), r.node()
	_, password := n.add("reader@example.com", account.RoleAuditor)
	admin, reader := n.signIn("admin", r.made.DashboardPassword, ""), n.signIn("reader@example.com", password, "")
	second := other.signIn("reader@example.com", password, "")
	ends := func(by string, want int, tokens ...string) {
		t.Helper()
		var ids []domain.UserSessionID
		for _, token := range tokens {
			ids = append(ids, n.current(token).Session.ID)
		}
		for range 2 { // the second time there is nothing to end
			if ended, err := other.EndSessions(t.Context(), n.current(by), ids, origin(1)); err != nil || ended != want {
				t.Errorf("%d ended, not %d: %v", ended, want, err)
			}
			want = 0
		}
		for _, token := range tokens {
			_, err := n.Session(t.Context(), token)
			mustRefuse(t, "an ended session", err, users.SessionEnded)
		}
	}
	stale := n.current(second.Token)
	_, err := n.EndSessions(t.Context(), n.current(reader.Token), []domain.UserSessionID{n.current(admin.Token).Session.ID}, origin(1))
	if domain.ReasonOf(err) != domain.ReasonMissingScope {
		t.Errorf("an auditor ends the session of an administrator: %v", err)
	}
	ends(reader.Token, 1, second.Token)
	_, err = n.EndSessions(t.Context(), stale, []domain.UserSessionID{n.current(reader.Token).Session.ID}, origin(1))
	mustRefuse(t, "by an ended session", err, users.SessionEnded)
	ends(admin.Token, 1, reader.Token)
	if left := n.state(r.by().Account).UserSessions; len(left) != 1 {
		t.Errorf("%+v", left)
	}
}
