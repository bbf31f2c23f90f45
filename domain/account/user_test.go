package account_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/account"
)

// staffed is an account with the admin of init and further users.
func staffed(t *testing.T, more ...account.User) account.State {
	t.Helper()
	s := account.Evolve(account.State{}, created())
	for _, u := range more {
		s = do(t, s, func(s account.State) (account.Event, error) {
			return account.DecideAddUser(s, account.AddUser{At: at, User: u})
		})
	}
	return s
}

// do decides and evolves; a refusal fails the test.
func do(t *testing.T, s account.State, decide func(account.State) (account.Event, error)) account.State {
	t.Helper()
	e, err := decide(s)
	if err != nil || e == nil {
		t.Fatalf("%v, %v", e, err)
	}
	return account.Evolve(s, e)
}

func auditor(id domain.UserID, email string) account.User {
	return account.User{ID: id, Name: email, Role: account.RoleAuditor, Password: domain.SecretID("password.acct." + id)}
}

// TestAddUser checks that a new user has a valid address, unique in the account, and a known role.
// The error names all faults.
func TestAddUser(t *testing.T) {
	s := staffed(t, auditor("user-2", " Ada@Shop.Example "))
	got, known := s.UserNamed("ADA@shop.example")
	if want := (account.User{ID: "user-2", Name: "ada@shop.example", Role: account.RoleAuditor, Password: "password.acct.user-2", CreatedAt: at}); !known || got != want {
		t.Errorf("added is %+v", got)
	}
	for _, c := range []struct {
		user  account.User
		paths string
	}{
		{auditor("u", "ada@SHOP.example"), "$.email"},
		{auditor("u", "admin"), "$.email"},
		{account.User{ID: "u", Name: "Ada <a@b.c>", Role: "owner"}, "$.email $.role"},
		{account.User{ID: "u", Name: "x@shop.example"}, "$.role"},
	} {
		e, err := account.DecideAddUser(s, account.AddUser{At: at, User: c.user})
		if e != nil || paths(err) != c.paths {
			t.Errorf("%+v: %v, %v", c.user, e, err)
		}
	}
	if _, err := account.DecideAddUser(account.State{}, account.AddUser{}); domain.ReasonOf(err) != domain.ReasonEntityNotFound {
		t.Errorf("of no account: %v", err)
	}
	for i := len(s.Users); i < account.MaxUsers; i++ {
		s = staffedWith(t, s, fmt.Sprintf("user-%d@shop.example", i))
	}
	if _, err := account.DecideAddUser(s, account.AddUser{At: at, User: auditor("u", "one@more.example")}); paths(err) != "$" {
		t.Errorf("one more than %d: %v", account.MaxUsers, err)
	}
}

func staffedWith(t *testing.T, s account.State, email string) account.State {
	t.Helper()
	return do(t, s, func(s account.State) (account.Event, error) {
		return account.DecideAddUser(s, account.AddUser{At: at, User: auditor(domain.UserID(email), email)})
	})
}

// paths are the paths of a refusal's violations.
func paths(err error) string {
	var e *domain.Error
	if !errors.As(err, &e) {
		return fmt.Sprint(err)
	}
	var all []string
	for _, v := range e.Violations {
		all = append(all, v.Path)
	}
	return strings.Join(all, " ")
}

// longHost makes an address of 254 characters with a local part of 64.
var longHost = strings.Repeat(strings.Repeat("b", 62)+".", 3)[:188] + "b"

// TestEmailFault: an address is one line of visible ASCII, so that no two addresses look the same.
func TestEmailFault(t *testing.T) {
	for _, good := range []string{"a@b", "ada@shop.example", "Ada.Lovelace+till@sub.shop.example", " a@b ", "o'neil@x.example", strings.Repeat("a", 64) + "@" + longHost} {
		if fault := account.EmailFault(good); fault != "" {
			t.Errorf("%q %s", good, fault)
		}
	}
	for _, bad := range []string{
		"", "a", "@b", "a@", "a@b@c", "a b@c", "a@b\u0000", "\u0430@b.c", "a\u200b@b.c", `"a b"@c`, `"a"@c`, "Ada <a@b.c>", "<a@b.c>", "a@b.c, d@e.f", "a@b (x)",
		"a..b@c", ".a@b", "a.@b", "a@b..c", "a@-b.c", "a@b-.c", "a@[192.0.2.1]", "a@" + strings.Repeat("b", 64),
		strings.Repeat("a", 65) + "@b", strings.Repeat("a", 64) + "@" + longHost + "b",
	} {
		if account.EmailFault(bad) == "" {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// TestOneAdminRemains: the only admin stays, and stays an admin. With a second one each may go,
// also by the own hand.
func TestOneAdminRemains(t *testing.T) {
	s := staffed(t, auditor("user-2", "ada@shop.example"))
	role := func(id domain.UserID, r account.Role) func(account.State) (account.Event, error) {
		return func(s account.State) (account.Event, error) {
			return account.DecideChangeUserRole(s, account.ChangeUserRole{At: at, User: id, Role: r})
		}
	}
	remove := func(id domain.UserID) func(account.State) (account.Event, error) {
		return func(s account.State) (account.Event, error) {
			return account.DecideRemoveUser(s, account.RemoveUser{At: at.Add(time.Hour), User: id})
		}
	}
	for _, decide := range []func(account.State) (account.Event, error){role("user-1", account.RoleOperator), remove("user-1")} {
		if e, err := decide(s); e != nil || paths(err) != "$.role" || !strings.Contains(err.Error(), "another user an admin first") {
			t.Errorf("the only admin: %v, %v", e, err)
		}
	}
	for _, r := range []account.Role{"", "owner"} {
		if e, err := role("user-2", r)(s); e != nil || paths(err) != "$.role" {
			t.Errorf("the role %q: %v, %v", r, e, err)
		}
	}
	if e, err := role("user-2", account.RoleAuditor)(s); e != nil || err != nil {
		t.Errorf("the same role: %v, %v", e, err)
	}
	s = do(t, s, role("user-2", account.RoleAdmin))
	s = do(t, s, remove("user-1"))
	if want := []account.RemovedUser{{ID: "user-1", Name: "admin", At: at.Add(time.Hour)}}; !cmp.Equal(s.RemovedUsers, want) || !s.Removed("user-1") || s.Removed("user-2") {
		t.Errorf("removed are %+v", s.RemovedUsers)
	}
	for _, gone := range []func(account.State) (account.Event, error){role("user-1", account.RoleAdmin), remove("user-1")} {
		if e, err := gone(s); e != nil || domain.ReasonOf(err) != domain.ReasonEntityNotFound {
			t.Errorf("a removed user: %v, %v", e, err)
		}
	}
	if _, err := remove("user-2")(s); paths(err) != "$.role" {
		t.Errorf("the last one: %v", err)
	}
	for i := range account.MaxRemovedUsers + 5 {
		s = staffedWith(t, s, "x@shop.example")
		s = do(t, s, remove("x@shop.example"))
		if i > account.MaxRemovedUsers && len(s.RemovedUsers) != account.MaxRemovedUsers {
			t.Fatalf("%d removed users are kept", len(s.RemovedUsers))
		}
	}
}

// TestRoleScopes checks that each role has all scopes of the role below it, and no scope beyond
// those of the first key.
func TestRoleScopes(t *testing.T) {
	holds := func(all, some []string) bool {
		for _, scope := range some {
			if !strings.Contains(strings.Join(all, " ")+" ", scope+" ") {
				return false
			}
		}
		return true
	}
	admin, operator, auditor := account.RoleAdmin.Scopes(), account.RoleOperator.Scopes(), account.RoleAuditor.Scopes()
	if !cmp.Equal(admin, account.Scopes) || !holds(admin, operator) || !holds(operator, auditor) || len(auditor) == 0 {
		t.Errorf("admin %q, operator %q, auditor %q", admin, operator, auditor)
	}
	for _, scope := range auditor {
		if !strings.HasSuffix(scope, ":read") && scope != account.ScopeTransactionsRetrieve {
			t.Errorf("an auditor has %s", scope)
		}
	}
	if scopes := account.Role("owner").Scopes(); len(scopes) != 0 {
		t.Errorf("an unknown role has %q", scopes)
	}
	operator[0] = "changed"
	if account.RoleOperator.Scopes()[0] == "changed" {
		t.Error("a caller changes the scopes of a role")
	}
}
