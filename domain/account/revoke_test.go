package account_test

import (
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
)

// TestRevokeAPIKey: the key is gone, the others stay, and its place is free for another (D20).
func TestRevokeAPIKey(t *testing.T) {
	s := account.Evolve(account.State{}, created())
	s = account.Evolve(s, account.APIKeyCreated{At: at, Key: account.APIKey{ID: "key-2"}})
	e, err := account.DecideRevokeAPIKey(s, account.RevokeAPIKey{At: at.Add(time.Hour), ID: "key-1"})
	if err != nil {
		t.Fatal(err)
	}
	next := account.Evolve(s, e)
	if _, there := next.Key("key-1"); there || len(next.APIKeys) != 1 || next.APIKeys[0].ID != "key-2" || !next.UpdatedAt.Equal(at.Add(time.Hour)) {
		t.Errorf("left are %v at %s", next.APIKeys, next.UpdatedAt)
	}
	if _, there := s.Key("key-1"); !there || s.APIKeys[1].ID != "key-2" {
		t.Errorf("the state handed out before has changed: %v", s.APIKeys)
	}
	for _, id := range []domain.APIKeyID{"key-1", "", "key-3"} {
		if e, err := account.DecideRevokeAPIKey(next, account.RevokeAPIKey{ID: id}); e != nil || domain.ReasonOf(err) != domain.ReasonEntityNotFound {
			t.Errorf("%q: %v, %v", id, e, err)
		}
	}
}

// TestCheckActor: a revoked key, a removed user and a session that has ended are refused, and other
// callers are not looked for.
func TestCheckActor(t *testing.T) {
	s := account.Evolve(account.State{}, created())
	s = account.Evolve(s, account.UserAdded{At: at, User: account.User{ID: "ada", Name: "ada@shop.example"}})
	s = account.Evolve(s, account.UserSignedIn{At: at, User: "ada", Session: "tab", ExpiresAt: at.Add(time.Hour)})
	for _, by := range [][2]string{{"api_key:key-1"}, {"cli:init"}, {"user:ada"}, {"user:ada", "tab"}} {
		if err := s.CheckActor(by[0], domain.UserSessionID(by[1]), at); err != nil {
			t.Errorf("%s: %v", by, err)
		}
	}
	for name, c := range map[string]struct {
		event          account.Event
		actor, session string
		at             time.Time
	}{
		"a revoked key":                    {account.APIKeyRevoked{At: at, ID: "key-1"}, "api_key:key-1", "", at},
		"a removed user":                   {account.UserRemoved{At: at, User: "ada"}, "user:ada", "tab", at},
		"a user with the id of a key":      {account.UserLocked{At: at}, "user:key-1", "", at},
		"a session that was ended":         {account.UserSignedOut{At: at, User: "ada", Session: "tab"}, "user:ada", "tab", at},
		"a session before another role":    {account.UserRoleChanged{At: at, User: "ada", Role: account.RoleAuditor}, "user:ada", "tab", at},
		"a session whose time is over":     {account.UserLocked{At: at}, "user:ada", "tab", at.Add(time.Hour)},
		"a session that is another user's": {account.UserAdded{At: at, User: account.User{ID: "bob"}}, "user:bob", "tab", at},
	} {
		if err := account.Evolve(s, c.event).CheckActor(c.actor, domain.UserSessionID(c.session), c.at); domain.ReasonOf(err) != domain.ReasonUnauthorized {
			t.Errorf("%s: %v", name, err)
		}
	}
}
