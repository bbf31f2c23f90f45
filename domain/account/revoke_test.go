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

// TestCheckActor: a revoked key and a removed user are refused, and other callers are not looked
// for.
func TestCheckActor(t *testing.T) {
	s := account.Evolve(account.State{}, created())
	s = account.Evolve(s, account.UserAdded{At: at, User: account.User{ID: "ada", Name: "ada@shop.example"}})
	for _, actor := range []string{"api_key:key-1", "cli:init", "user:ada"} {
		if err := s.CheckActor(actor); err != nil {
			t.Errorf("%s: %v", actor, err)
		}
	}
	if err := account.Evolve(s, account.APIKeyRevoked{At: at, ID: "key-1"}).CheckActor("api_key:key-1"); domain.ReasonOf(err) != domain.ReasonUnauthorized {
		t.Errorf("a revoked key: %v", err)
	}
	if err := account.Evolve(s, account.UserRemoved{At: at, User: "ada"}).CheckActor("user:ada"); domain.ReasonOf(err) != domain.ReasonUnauthorized {
		t.Errorf("a removed user: %v", err)
	}
	if err := s.CheckActor("user:key-1"); domain.ReasonOf(err) != domain.ReasonUnauthorized {
		t.Errorf("a user with the id of a key: %v", err)
	}
}
