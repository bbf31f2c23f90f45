package account_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
)

// TestCreateAnalyticsUser: a new user of a name replaces the one before; others stay; their number
// is limited; without an account there is none. A removed user is gone.
func TestCreateAnalyticsUser(t *testing.T) {
	s := account.Evolve(account.State{}, created())
	set := func(name, key string) error {
		e, err := account.DecideCreateAnalyticsUser(s, account.AnalyticsUserCreated{At: at.Add(time.Hour), User: account.AnalyticsUser{Name: name, Key: key}})
		if err == nil {
			before, users := s, slices.Clone(s.AnalyticsUsers)
			s = account.Evolve(s, e)
			if !slices.Equal(before.AnalyticsUsers, users) {
				t.Errorf("the state handed out before has changed: %+v", before.AnalyticsUsers)
			}
		}
		return err
	}
	for _, user := range [][2]string{{"warehouse", "U1"}, {"books", "U2"}, {"warehouse", "U3"}} {
		if err := set(user[0], user[1]); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(s.AnalyticsUsers); got != "[{books U2} {warehouse U3}]" || !s.UpdatedAt.Equal(at.Add(time.Hour)) {
		t.Errorf("the users are %s at %s", got, s.UpdatedAt)
	}
	for n := len(s.AnalyticsUsers); n < account.MaxAnalyticsUsers; n++ {
		if err := set(fmt.Sprint("user-", n), "U"); err != nil {
			t.Fatal(err)
		}
	}
	var refused *domain.Error
	if err := set("one more", "U"); !errors.As(err, &refused) || refused.Kind != domain.KindInvalid {
		t.Errorf("a further user: %v", err)
	}
	if err := set("books", "U4"); err != nil {
		t.Errorf("a replaced user of a full account: %v", err)
	}
	e, err := account.DecideRemoveAnalyticsUser(s, account.AnalyticsUserRemoved{At: at.Add(2 * time.Hour), Name: "books"})
	if err != nil {
		t.Fatal(err)
	}
	s = account.Evolve(s, e)
	if len(s.AnalyticsUsers) != account.MaxAnalyticsUsers-1 || s.AnalyticsUsers[0].Name != "warehouse" || !s.UpdatedAt.Equal(at.Add(2*time.Hour)) {
		t.Errorf("after the removal the users are %v at %s", s.AnalyticsUsers, s.UpdatedAt)
	}
	if _, err := account.DecideRemoveAnalyticsUser(s, account.AnalyticsUserRemoved{Name: "books"}); domain.ReasonOf(err) != domain.ReasonEntityNotFound {
		t.Errorf("a second removal: %v", err)
	}
	if _, err := account.DecideCreateAnalyticsUser(account.State{}, account.AnalyticsUserCreated{}); domain.ReasonOf(err) != domain.ReasonEntityNotFound {
		t.Errorf("without an account: %v", err)
	}
}
