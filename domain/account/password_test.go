package account_test

import (
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
)

// TestResetUserPassword: the user has the new verifier, others keep theirs; a user that is not
// there and a reset that another one has overtaken are refused.
func TestResetUserPassword(t *testing.T) {
	made := created()
	made.User = account.User{ID: "user-1", Name: "admin", Role: "admin", Password: "password.acct.user-1"}
	s := account.Evolve(account.State{}, made)
	s.Users = append(s.Users, account.User{ID: "user-2", Password: "password.acct.user-2"})
	reset := account.ResetUserPassword{
		UserPasswordReset: account.UserPasswordReset{At: at.Add(time.Hour), User: "user-1", Password: "password.acct.user-1.2"},
		Replaces:          "password.acct.user-1",
	}
	e, err := account.DecideResetUserPassword(s, reset)
	if err != nil {
		t.Fatal(err)
	}
	next := account.Evolve(s, e)
	want := account.User{ID: "user-1", Name: "admin", Role: "admin", Password: "password.acct.user-1.2"}
	if next.Users[0] != want || next.Users[1] != s.Users[1] || !next.UpdatedAt.Equal(at.Add(time.Hour)) || next.Revision != s.Revision+1 {
		t.Errorf("the users are %+v at %s", next.Users, next.UpdatedAt)
	}
	if s.Users[0].Password != "password.acct.user-1" {
		t.Errorf("the state handed out before has changed: %+v", s.Users)
	}
	if e, err := account.DecideResetUserPassword(next, reset); e != nil || domain.ReasonOf(err) != domain.ReasonConcurrentModification {
		t.Errorf("a reset that was overtaken: %v, %v", e, err)
	}
	reset.User = "user-3"
	if e, err := account.DecideResetUserPassword(s, reset); e != nil || domain.ReasonOf(err) != domain.ReasonConcurrentModification {
		t.Errorf("of nobody: %v, %v", e, err)
	}
}
