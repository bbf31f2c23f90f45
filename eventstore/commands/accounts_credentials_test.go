package commands_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"payledger/domain/account"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/commands/accounts/accountstest"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/users"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
)

// lifeline is a process's connection to its log. It counts the effects, which are the messages that
// change something, and ends the process at one of them.
type lifeline struct {
	inner nats.InProcessConnProvider
	at    int  // ends at this effect, counted from 1; 0: never
	after bool // the effect happens; its answer is lost
	die   func()

	mu      sync.Mutex
	seen    []string // the effects, in their order
	dead    bool
	carried []net.Conn
}

func (l *lifeline) through(o *nats.Options) error {
	l.inner, o.InProcessServer = o.InProcessServer, l
	return nil
}

func (l *lifeline) InProcessConn() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return nil, commandstest.ErrGone
	}
	server, err := l.inner.InProcessConn()
	if err != nil {
		return nil, err
	}
	l.carried = append(l.carried, server)
	return &strand{Conn: server, line: l}, nil
}

// cut ends the process: all connections at once.
func (l *lifeline) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
	for _, c := range l.carried {
		c.Close()
	}
	l.die()
}

// cutsAt counts the effects in the bytes that a client sends, and reports whether the process ends
// at one of them.
func (l *lifeline) cutsAt(p []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.seen)
	for line := range bytes.Lines(p) {
		words := bytes.Fields(line)
		if len(words) < 3 || string(words[0]) != "PUB" && string(words[0]) != "HPUB" {
			continue
		}
		for _, prefix := range []string{"ledger.", "secrets.", "$JS.API.STREAM.MSG.DELETE."} {
			if bytes.HasPrefix(words[1], []byte(prefix)) {
				l.seen = append(l.seen, string(words[1]))
			}
		}
	}
	return before < l.at && l.at <= len(l.seen)
}

// strand is one connection.
type strand struct {
	net.Conn
	line *lifeline

	mu   sync.Mutex
	deaf bool // the next that the server says ends the process
}

func (s *strand) Write(p []byte) (int, error) {
	switch {
	case !s.line.cutsAt(p):
	case s.line.after:
		s.mu.Lock()
		s.deaf = true
		s.mu.Unlock()
	default:
		s.line.cut()
		return 0, commandstest.ErrGone
	}
	return s.Conn.Write(p)
}

func (s *strand) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deaf && bytes.Contains(p[:n], []byte("MSG ")) {
		s.line.cut()
		return 0, commandstest.ErrGone
	}
	return n, err
}

// resetRun is a reset of the credentials in a separate process.
type resetRun struct {
	made  accounts.Credentials
	err   error
	steps []string
}

// resetOn resets the credentials of a log in a process that may end on the way.
func resetOn(t *testing.T, server *embedded.Server, seed byte, at int, after bool) (run resetRun) {
	t.Helper()
	ctx, die := context.WithCancel(context.Background())
	defer die()
	line := &lifeline{after: after, die: die}
	config := eventstoretest.Config(server)
	config.Options = []nats.Option{line.through}
	store, err := engine.Open(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	vault := eventstoretest.Secrets(t, store)
	line.mu.Lock()
	line.seen, line.at = nil, at
	line.mu.Unlock()
	run.made, run.err = accounts.ResetCredentials(ctx, store, vault, rand.NewChaCha8([32]byte{seed}), "", "cli:credentials")
	if err := store.Close(); err != nil && run.err == nil {
		t.Error(err)
	}
	line.mu.Lock()
	defer line.mu.Unlock()
	run.steps = slices.Clone(line.seen)
	return run
}

// usersPassword reads the password of the account's first user: the first of the texts that fits,
// and the names of all verifiers.
func usersPassword(t *testing.T, server *embedded.Server, owner accounts.Credentials, texts ...string) (opens string, names []string) {
	t.Helper()
	ctx := context.Background()
	config := eventstoretest.Config(server)
	store, err := engine.Open(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	tip, err := eventstore.NewRepositories(store).Accounts.Load(ctx, owner.AccountID, owner.AccountID, eventstore.Latest)
	if err != nil {
		t.Fatal(err)
	}
	values, err := store.OpenSecrets(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if names, err = values.Names(ctx, "password."+string(owner.AccountID)); err != nil {
		t.Fatal(err)
	}
	verifier, err := eventstoretest.Secrets(t, store).Get(ctx, tip.State.Users[0].Password)
	if err != nil {
		t.Errorf("the user's password %s: %v", tip.State.Users[0].Password, err)
	}
	for _, text := range texts { // each takes long by intent
		if secrets.CheckPassword(verifier, text) {
			return text, names
		}
	}
	return "", names
}

// TestResetCutShort ends the process of a reset before or after each of its effects. The
// dashboard's user has the old password or the new one, never none. The next reset makes another
// one, and leaves no verifier behind.
func TestResetCutShort(t *testing.T) {
	t.Parallel()
	rehearsal := t.TempDir()
	old := accountstest.Initialized(t, rehearsal)
	whole := resetOn(t, eventstoretest.Server(t, rehearsal), 1, 0, false)
	if whole.err != nil || whole.made.DashboardPassword == "" {
		t.Fatalf("%+v", whole)
	}
	if len(whole.steps) < 7 { // key, verifier, event, destruction, deletion, secret, rotation
		t.Fatalf("a reset has the effects %q", whole.steps)
	}
	event := 0 // the second one, after the key's
	for i, events := 0, 0; events < 2 && i < len(whole.steps); i++ {
		if strings.HasPrefix(whole.steps[i], "ledger.") {
			event, events = i, events+1
		}
	}
	first := 1
	if seedtest.Sampled() {
		first = 2 // the verifier
	}
	for at := first; at <= len(whole.steps); at++ {
		for _, after := range []bool{false, true} {
			if seedtest.Sampled() && after != (at%2 > 0) { // each checks passwords, which takes long by intent
				continue
			}
			t.Run(fmt.Sprintf("%d %s after=%v", at, whole.steps[at-1], after), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				accountstest.Initialized(t, dir)
				server := eventstoretest.Server(t, dir)
				cut := resetOn(t, server, 1, at, after)
				if cut.err == nil {
					t.Fatalf("it came to its end: %+v", cut.steps)
				}
				want, other := old.DashboardPassword, whole.made.DashboardPassword
				if at-1 > event || at-1 == event && after {
					want, other = other, want
				}
				opens, names := usersPassword(t, server, old, want, other)
				if opens != want {
					t.Errorf("the password is %q, not %q; verifiers %q", opens, want, names)
				}
				again := resetOn(t, server, 2, 0, false)
				if again.err != nil {
					t.Fatal(again.err)
				}
				opens, names = usersPassword(t, server, old, again.made.DashboardPassword)
				if opens != again.made.DashboardPassword || len(names) != 1 {
					t.Errorf("after the next reset the password is %q; verifiers %q", opens, names)
				}
			})
		}
	}
}

// TestResetIsRecorded: the account's history says who reset a password and when, and nothing of the
// password.
func TestResetIsRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before, _ := r.Merchant(r.By.Account)
	made, err := accounts.ResetCredentials(context.Background(), r.Store, r.Vault, rand.NewChaCha8([32]byte{3}), "", "cli:credentials")
	if err != nil {
		t.Fatal(err)
	}
	events, err := r.Store.History(context.Background(), eventstore.Accounts.Key(r.By.Account, string(r.By.Account)))
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range events[1:] {
		if types = append(types, e.Type); e.Actor != "cli:credentials" {
			t.Errorf("%s is by %s", e.Type, e.Actor)
		}
		for _, secret := range []string{made.APIKey, made.SigningSecret, made.DashboardPassword, "argon2id"} {
			if bytes.Contains(e.Body, []byte(secret)) {
				t.Errorf("%s has a secret in clear", e.Type)
			}
		}
	}
	if want := []string{"account.api_key_created", "account.user_password_reset", "account.signing_secret_rotated"}; !slices.Equal(types, want) {
		t.Errorf("the history has %q", types)
	}
	newest, err := eventstore.Accounts.Event(events[len(events)-2])
	reset, is := newest.(account.UserPasswordReset)
	after, _ := r.Merchant(r.By.Account)
	if err != nil || !is || reset.User != before.Users[0].ID || reset.Password == before.Users[0].Password || after.Users[0].Password != reset.Password {
		t.Errorf("the event before the rotation is %+v, %v", newest, err)
	}
	if _, err := r.Vault.Get(context.Background(), before.Users[0].Password); !errors.Is(err, secrets.ErrGone) {
		t.Errorf("the old verifier: %v", err)
	}
}

// TestResetEndsLockAndSecondFactor: a reset lets in an admin who is locked out and has lost the
// phone, and records it.
func TestResetEndsLockAndSecondFactor(t *testing.T) {
	t.Parallel()
	s := staff{t: t, clock: new(atomic.Int64), password: new(string), app: new(string)}
	dir := t.TempDir()
	made := accountstest.Initialized(t, dir)
	s.owner, *s.password = made.AccountID, made.DashboardPassword
	server := eventstoretest.Server(t, dir)
	_, err := s.process(server, 0, false, func(s *staff) error {
		who, err := s.signIn(*s.password)
		if err != nil {
			return err
		}
		factor, err := s.BeginTOTP(s.ctx, who, *s.password, users.Origin{})
		if err != nil {
			return err
		}
		*s.app = factor.Secret
		in, err := s.ConfirmTOTP(s.ctx, who, s.code(), users.Origin{})
		if err != nil {
			return err
		}
		for range account.MaxFailures {
			_, err = s.SignIn(s.ctx, users.SignInInput{Email: "admin", Password: *s.password, Code: "000000"})
		}
		if users.ReasonOf(err) != users.LockedUser {
			t.Errorf("after ten failures: %v", err)
		}
		reset, err := accounts.ResetCredentials(s.ctx, s.store, s.vault, rand.NewChaCha8([32]byte{4}), s.owner, "cli:credentials")
		if err != nil {
			return err
		}
		if _, err := s.Session(s.ctx, in.Token); users.ReasonOf(err) != users.SessionEnded {
			t.Errorf("the session before the reset: %v", err)
		}
		if _, err := s.signIn(reset.DashboardPassword); err != nil || reset.DashboardUser != "admin" {
			t.Errorf("the new password of %s alone: %v", reset.DashboardUser, err)
		}
		events, err := s.store.History(s.ctx, eventstore.Accounts.Key(s.owner, string(s.owner)))
		var types []string
		for _, e := range events[max(0, len(events)-4):] {
			types = append(types, e.Type+" "+strings.SplitN(e.Actor, ":", 2)[0])
		}
		if want := []string{"account.user_password_reset cli", "account.user_totp_disabled cli", "account.signing_secret_rotated cli", "account.user_signed_in user"}; !slices.Equal(types, want) {
			t.Errorf("recorded are %q", types)
		}
		if got := s.stored(); !slices.Equal(got, named(s.state())) || len(got) != 1 {
			t.Errorf("stored are %q", got)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
