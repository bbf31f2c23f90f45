package commands_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/pquerna/otp/totp"
	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/commands/accounts/accountstest"
	"payledger/eventstore/commands/users"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
)

// staff is a process that changes users, with the users' knowledge: the texts that the process
// showed them.
type staff struct {
	*users.Users
	t        *testing.T
	ctx      context.Context // of the process
	accounts *accounts.Accounts
	vault    *secrets.Store
	store    *engine.Store
	owner    domain.AccountID
	clock    *atomic.Int64
	app      *string // the secret in the admin's authenticator app
	password *string // the admin's
}

func (s *staff) now() time.Time {
	return time.Unix(1_800_000_000, 0).Add(time.Duration(s.clock.Load()))
}

// process runs a process on the log. It ends at the effect number at of run; 0: never.
func (s staff) process(server *embedded.Server, at int, after bool, run func(*staff) error) (steps []string, err error) {
	s.t.Helper()
	ctx, die := context.WithCancel(context.Background())
	defer die()
	s.ctx = ctx
	line := &lifeline{after: after, die: die}
	config := eventstoretest.Config(server)
	config.Options, config.Now = []nats.Option{line.through}, s.now
	if s.store, err = engine.Open(ctx, config); err != nil {
		s.t.Fatal(err)
	}
	s.vault = eventstoretest.Secrets(s.t, s.store)
	s.accounts = &accounts.Accounts{Base: commands.NewBase(commands.Config{Store: s.store, Secrets: s.vault, Random: rand.Reader, Logger: zerolog.Nop()})}
	root, err := s.vault.SessionRoot(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Users, err = users.New(users.Config{
		Accounts: s.accounts, Root: root, Directory: func() []account.State { return []account.State{s.state()} },
		Newest: func(context.Context, domain.AccountID) (account.State, bool, error) { return s.state(), true, nil },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	line.mu.Lock()
	line.seen, line.at = nil, at
	line.mu.Unlock()
	err = run(&s)
	s.accounts.Close()
	if closed := s.store.Close(); closed != nil && err == nil {
		s.t.Error(closed)
	}
	line.mu.Lock()
	defer line.mu.Unlock()
	return slices.Clone(line.seen), err
}

// state returns the account as this process knows it; the zero state for a process that has ended.
func (s *staff) state() account.State {
	tip, err := eventstore.NewRepositories(s.store).Accounts.Load(s.ctx, s.owner, s.owner, eventstore.Latest)
	if err != nil {
		return account.State{}
	}
	return tip.State
}

func (s *staff) by() commands.Caller {
	return commands.Caller{Account: s.owner, Actor: "cli:test", RequestID: "request"}
}

// signIn begins a session of the admin, with a code if one is needed.
func (s *staff) signIn(password string) (users.Current, error) {
	in := users.SignInInput{Email: "admin", Password: password}
	if u, _ := s.state().UserNamed("admin"); u.TOTP != "" {
		in.Code = s.code()
	}
	made, err := s.SignIn(s.ctx, in)
	if err != nil {
		return users.Current{}, err
	}
	return s.Session(s.ctx, made.Token)
}

// code waits for a further code of the app.
func (s *staff) code() string {
	s.clock.Add(int64(30 * time.Second))
	code, err := totp.GenerateCode(*s.app, s.now())
	if err != nil {
		return "" // there is no app: the process was ended before it showed the secret
	}
	return code
}

// changePassword is the admin's, who remembers both passwords until one of them is accepted.
func changePassword(s *staff) error {
	who, err := s.signIn(*s.password)
	if err != nil {
		return err
	}
	next := *s.password + ", grape kettle sofa 91"
	_, err = s.ChangePassword(s.ctx, who, users.PasswordChange{Old: *s.password, New: next})
	if err == nil {
		*s.password = next
	}
	return err
}

// secondFactor turns it on and off. A further run goes on where the one before was ended.
func secondFactor(s *staff) error {
	who, err := s.signIn(*s.password)
	if err != nil {
		return err
	}
	if who.User.TOTP == "" {
		made, err := s.BeginTOTP(s.ctx, who, *s.password, users.Origin{})
		if err != nil {
			return err
		}
		*s.app = made.Secret
		in, err := s.ConfirmTOTP(s.ctx, who, s.code(), users.Origin{})
		if err != nil {
			return err
		}
		if who, err = s.Session(s.ctx, in.Token); err != nil {
			return err
		}
	}
	_, err = s.DisableTOTP(s.ctx, who, s.code(), users.Origin{})
	return err
}

// another adds a user, changes it and removes it. A further run goes on where the one before was
// ended.
func another(s *staff) error {
	user, known := s.state().UserNamed("ada@shop.example")
	if !known {
		var err error
		if user, _, err = s.accounts.AddUser(s.ctx, s.by(), accounts.UserInput{Email: "ada@shop.example", Role: account.RoleAuditor}); err != nil {
			return err
		}
	}
	role := account.RoleOperator
	if _, _, err := s.accounts.ChangeUser(s.ctx, s.by(), user.ID, accounts.UserChange{Role: &role, ResetPassword: true, DisableTOTP: true}); err != nil {
		return err
	}
	_, err := s.accounts.RemoveUser(s.ctx, s.by(), user.ID)
	return err
}

// named are the secrets of users that a state needs.
func named(s account.State) (all []string) {
	for _, u := range s.Users {
		for _, name := range []domain.SecretID{u.Password, u.TOTP, u.TOTPBegun} {
			if name != "" {
				all = append(all, string(name))
			}
		}
	}
	slices.Sort(all)
	return all
}

// stored are the users' secrets that are kept, but those of users who never came to be.
func (s *staff) stored() (all []string) {
	s.t.Helper()
	values, err := s.store.OpenSecrets(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	state := s.state()
	for _, kind := range []string{"password", "totp"} {
		names, err := values.Names(s.ctx, kind)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, name := range names {
			id := domain.UserID(strings.Split(name, ".")[2])
			if _, there := state.User(id); there || state.Removed(id) {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return all
}

// underWay reports whether a secret may belong to a command that has not recorded its event: only
// the next command of the user destroys it.
func underWay(s account.State, name string) bool {
	u, known := s.User(domain.UserID(strings.Split(name, ".")[2]))
	newest := u.Password
	if strings.HasPrefix(name, "totp.") {
		newest = u.TOTPLast
	}
	number, err := secrets.UserSecretNumber(domain.SecretID(name))
	last, _ := secrets.UserSecretNumber(newest) // 0 if the user never had one
	return known && err == nil && number == last+1
}

// TestUserCommandsCutShort: the process of a command on users ends before or after each of its
// effects. Every secret that the account names is there, the admin signs in with the old password
// or the new one, and never with both; the cleaner destroys the secrets that the account has
// replaced, and a further run completes.
func TestUserCommandsCutShort(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*staff) error{"password": changePassword, "second factor": secondFactor, "another user": another} {
		start := func(t *testing.T) (staff, *embedded.Server, string) {
			dir := t.TempDir()
			made := accountstest.Initialized(t, dir)
			password, app := made.DashboardPassword, ""
			return staff{t: t, owner: made.AccountID, clock: new(atomic.Int64), password: &password, app: &app}, eventstoretest.Server(t, dir), password
		}
		whole, server, _ := start(t)
		steps, err := whole.process(server, 0, false, run)
		if err != nil || len(steps) < 5 {
			t.Fatalf("%s: %q, %v", name, steps, err)
		}
		for at := 1; at <= len(steps); at++ {
			for _, after := range []bool{false, true} {
				if seedtest.Sampled() && (at%2 == 0 || after != (at%4 == 1)) { // every second step, and the two sides in turn
					continue
				}
				t.Run(fmt.Sprintf("%s %d %s after=%v", name, at, steps[at-1], after), func(t *testing.T) {
					t.Parallel()
					s, server, old := start(t)
					s.t = t
					if steps, err := s.process(server, at, after, run); err == nil && at < len(steps) {
						t.Fatalf("it came to its end: %q", steps)
					}
					next := old + ", grape kettle sofa 91"
					_, err := s.process(server, 0, false, func(s *staff) error {
						if got := s.stored(); !containsAll(got, named(s.state())) {
							t.Errorf("the account names %q, stored are %q", named(s.state()), got)
						}
						_, oldErr := s.signIn(old)
						_, nextErr := s.signIn(next)
						if (oldErr == nil) == (nextErr == nil) {
							t.Errorf("the old password: %v; the new one: %v", oldErr, nextErr)
						}
						if *s.password = old; nextErr == nil {
							*s.password = next
						}
						state := s.state()
						_, err := s.vault.CleanUsers(s.ctx, func(domain.AccountID) (account.State, bool) { return state, true })
						for _, name := range s.stored() {
							if !slices.Contains(named(state), name) && !underWay(state, name) {
								t.Errorf("after the cleaner the account names %q, and %s is stored", named(state), name)
							}
						}
						return errors.Join(err, run(s))
					})
					if err != nil {
						t.Errorf("the next run: %v", err)
					}
					_, err = s.process(server, 0, false, func(s *staff) error {
						if got := s.stored(); !slices.Equal(got, named(s.state())) || len(got) != 1 {
							t.Errorf("at the end the account names %q, stored are %q", named(s.state()), got)
						}
						_, err := s.signIn(*s.password)
						return err
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}
