package users_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/commands/accounts/accountstest"
	"payledger/eventstore/commands/users"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
)

func TestMain(m *testing.M) {
	if os.Getenv("CI") != "" {
		eventstoretest.RunWithoutLeaks(m)
	}
	os.Exit(m.Run())
}

// rig is a real log with an account.
type rig struct {
	t      *testing.T
	config engine.Config // of stores
	made   accounts.Credentials
	ahead  atomic.Int64 // how far the clock is ahead of a fixed one
}

// start is the rig's time; its codes last for 20 seconds more.
var start = time.Date(2026, 7, 1, 12, 0, 10, 0, time.UTC)

func (r *rig) now() time.Time { return start.Add(time.Duration(r.ahead.Load())) }

func (r *rig) wait(d time.Duration) { r.ahead.Add(int64(d)) }

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	made := accountstest.Initialized(t, dir)
	return &rig{t: t, config: eventstoretest.Config(eventstoretest.Server(t, dir)), made: made}
}

// newCluster makes a rig for several nodes.
func newCluster(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, config: eventstoretest.Cluster(t)}
	maker := eventstoretest.OpenOn(t, r.config)
	eventstoretest.Own(t, maker)
	r.made = accountstest.Initialize(t, maker, eventstoretest.Secrets(t, maker))
	return r
}

// node is a process with its own connection and vault.
type node struct {
	*users.Users
	r        *rig
	store    *engine.Store
	vault    *secrets.Store
	accounts *accounts.Accounts
	all      []domain.AccountID
	reads    atomic.Int64       // of the newest state of an account
	failing  []domain.AccountID // whose reads fail
}

func (r *rig) node() *node {
	r.t.Helper()
	config := r.config
	config.Now = r.now
	n := &node{r: r, store: eventstoretest.OpenOn(r.t, config), all: []domain.AccountID{r.made.AccountID}}
	n.vault = eventstoretest.Secrets(r.t, n.store)
	n.accounts = &accounts.Accounts{Base: commands.NewBase(commands.Config{
		Store: n.store, Secrets: n.vault, Random: rand.Reader, Logger: zerolog.Nop(),
		Account: func(id domain.AccountID) (account.State, bool) { return n.state(id), true },
	})}
	r.t.Cleanup(n.accounts.Close)
	root, err := n.vault.SessionRoot(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	n.Users, err = users.New(users.Config{
		Accounts: n.accounts, Root: root,
		Directory: func() (all []account.State) {
			for _, id := range n.all {
				all = append(all, n.state(id))
			}
			return all
		},
		Newest: func(ctx context.Context, id domain.AccountID) (account.State, bool, error) {
			n.reads.Add(1)
			tip, err := eventstore.NewRepositories(n.store).Accounts.Load(ctx, id, id, eventstore.Latest)
			if slices.Contains(n.failing, id) {
				err = errors.New("a test")
			}
			return tip.State, tip.State.Exists(), err
		},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// state reads an account at the log.
func (n *node) state(id domain.AccountID) account.State {
	n.r.t.Helper()
	tip, err := eventstore.NewRepositories(n.store).Accounts.Load(context.Background(), id, id, eventstore.Latest)
	if err != nil {
		n.r.t.Fatal(err)
	}
	return tip.State
}

// user reads a user of the first account.
func (n *node) user(name string) account.User {
	u, _ := n.state(n.r.made.AccountID).UserNamed(name)
	return u
}

func (r *rig) by() commands.Caller {
	return commands.Caller{Account: r.made.AccountID, Actor: "cli:test", RequestID: "request"}
}

// address returns a client address that only this test uses.
func address(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}) }

func origin(i int) users.Origin { return users.Origin{From: address(i), RequestID: "request"} }

func (n *node) try(name, password, code string) (users.SignedIn, error) {
	return n.SignIn(n.r.t.Context(), users.SignInInput{Email: name, Password: password, Code: code, Origin: origin(1)})
}

// signIn begins a session that must succeed.
func (n *node) signIn(name, password, code string) users.SignedIn {
	n.r.t.Helper()
	in, err := n.try(name, password, code)
	if err != nil {
		n.r.t.Fatal(err)
	}
	return in
}

// current is the session of a token, which must be open.
func (n *node) current(token string) users.Current {
	n.r.t.Helper()
	who, err := n.Session(n.r.t.Context(), token)
	if err != nil {
		n.r.t.Fatal(err)
	}
	return who
}

// add makes a user, who must be new.
func (n *node) add(email string, role account.Role) (account.User, string) {
	n.r.t.Helper()
	user, password, err := n.accounts.AddUser(n.r.t.Context(), n.r.by(), accounts.UserInput{Email: email, Role: role})
	if err != nil {
		n.r.t.Fatal(err)
	}
	return user, password
}

// code is an authenticator app's at the rig's time.
func (r *rig) code(secret string) string {
	r.t.Helper()
	code, err := totp.GenerateCode(secret, r.now())
	if err != nil {
		r.t.Fatal(err)
	}
	return code
}

// enable turns a signed-in user's second factor on, and returns the secret and the new session.
func (n *node) enable(token, password string) (string, users.SignedIn) {
	n.r.t.Helper()
	factor, err := n.BeginTOTP(n.r.t.Context(), n.current(token), password, origin(1))
	if err != nil {
		n.r.t.Fatal(err)
	}
	in, err := n.ConfirmTOTP(n.r.t.Context(), n.current(token), n.r.code(factor.Secret), origin(1))
	if err != nil {
		n.r.t.Fatal(err)
	}
	return factor.Secret, in
}

func mustRefuse(t *testing.T, what string, err error, want users.Reason) {
	t.Helper()
	if users.ReasonOf(err) != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}
