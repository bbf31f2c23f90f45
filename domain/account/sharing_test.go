package account_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"payledger/domain/account"
)

// TestRoomIsNotShared: a list with room behind it, as a decoder may leave it, is not written into.
func TestRoomIsNotShared(t *testing.T) {
	s := account.Evolve(account.State{}, created())
	s.APIKeys = append(make([]account.APIKey, 0, 8), s.APIKeys...)
	s.Endpoints = make([]account.Endpoint, 0, 8)
	a := account.Evolve(s, account.APIKeyCreated{At: at, Key: account.APIKey{ID: "a"}})
	b := account.Evolve(s, account.APIKeyCreated{At: at, Key: account.APIKey{ID: "b"}})
	c := account.Evolve(s, account.EndpointCreated{At: at, Endpoint: account.Endpoint{ID: "c"}})
	d := account.Evolve(s, account.EndpointCreated{At: at, Endpoint: account.Endpoint{ID: "d"}})
	if a.APIKeys[1].ID != "a" || b.APIKeys[1].ID != "b" || c.Endpoints[0].ID != "c" || d.Endpoints[0].ID != "d" {
		t.Error("two states share their lists")
	}
}

// TestEnabledProcessorsIsAView: asking which are enabled changes none.
func TestEnabledProcessorsIsAView(t *testing.T) {
	s := account.Evolve(account.State{}, created())
	s.EnabledProcessors()[0].MerchantID = "changed"
	if d := cmp.Diff(created().Processors, s.Processors); d != "" {
		t.Error(d)
	}
}
