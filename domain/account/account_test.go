package account_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

func created() account.Created {
	return account.Created{
		At: at, ID: "acct", Name: "Shop", Environment: account.Sandbox,
		Processors: []account.Processor{
			{Name: processor.Adyen, MerchantID: "m-1", Enabled: true}, {Name: processor.Braintree, MerchantID: "m-2"},
			{Name: processor.Stripe, MerchantID: "m-3", Enabled: true},
		},
		APIKey:  account.APIKey{ID: "key-1", Name: "first", Hash: []byte{1}, Scopes: account.Scopes, CreatedAt: at},
		Signing: account.SigningSecret{Secret: "secret-1", Hint: "abcd", CreatedAt: at},
		User:    account.User{ID: "user-1", Name: "admin", Role: "admin", Password: "secret-2"},
	}
}

func TestCreate(t *testing.T) {
	e, err := account.DecideCreate(account.State{}, account.Create{Created: created()})
	if err != nil {
		t.Fatal(err)
	}
	s := account.Evolve(account.State{}, e)
	c := created()
	want := account.State{
		ID: "acct", Revision: 1, Name: "Shop", Environment: account.Sandbox, CreatedAt: at, UpdatedAt: at,
		Processors: c.Processors, APIKeys: []account.APIKey{c.APIKey}, Signing: c.Signing, Users: []account.User{c.User},
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	if again, err := account.DecideCreate(s, account.Create{Created: created()}); again != nil || err == nil {
		t.Errorf("a second creation: %v, %v", again, err)
	}
	enabled := s.EnabledProcessors()
	if len(enabled) != 2 || enabled[0].Name != processor.Adyen || enabled[1].Name != processor.Stripe || len(s.Processors) != 3 {
		t.Errorf("enabled are %v of %v (D15)", enabled, s.Processors)
	}
}

// TestAPIKeys: keys are added, not beyond the limit and not with an expiry that has passed (D2,
// D20).
func TestAPIKeys(t *testing.T) {
	s := account.Evolve(account.State{}, created())
	add := func(s account.State, expires *time.Time) (account.Event, error) {
		return account.DecideCreateAPIKey(s, account.CreateAPIKey{At: at, Key: account.APIKey{ID: "key-2", ExpiresAt: expires}})
	}
	for name, expires := range map[string]time.Time{"past": at.Add(-1), "now": at} {
		if e, err := add(s, &expires); e != nil || domain.ReasonOf(err) != domain.ReasonRequestValidation {
			t.Errorf("expiry %s: %v, %v", name, e, err)
		}
	}
	e, err := add(s, ptr(at.Add(1)))
	if err != nil {
		t.Fatal(err)
	}
	next := account.Evolve(s, e)
	key, found := next.Key("key-2")
	if !found || !key.Valid(at) || key.Valid(at.Add(1)) || key.Allows(account.ScopeAccountRead) {
		t.Errorf("the new key is %+v (%v)", key, found)
	}
	first, _ := next.Key("key-1")
	if !first.Valid(at.Add(1e6*time.Hour)) || !first.Allows(account.ScopeAccountWrite) {
		t.Errorf("the first key is %+v", first)
	}
	if _, found := s.Key("key-2"); found || len(s.APIKeys) != 1 {
		t.Error("the state handed out before has changed")
	}
	s.APIKeys = make([]account.APIKey, account.MaxAPIKeys)
	if e, err := add(s, nil); e != nil || domain.ReasonOf(err) != domain.ReasonRequestValidation {
		t.Errorf("one key more than may be: %v, %v", e, err)
	}
}

// TestEndpoints checks that webhook endpoints are added up to the limit, with the requested
// settings (D18).
func TestEndpoints(t *testing.T) {
	s := account.Evolve(account.State{}, created())
	for i := range account.MaxEndpoints {
		endpoint := account.Endpoint{ID: domain.EndpointID(fmt.Sprint(i)), URL: "https://shop.example", Enabled: true, CreatedAt: at}
		e, err := account.DecideCreateEndpoint(s, account.CreateEndpoint{At: at, Endpoint: endpoint})
		if err != nil {
			t.Fatal(err)
		}
		s = account.Evolve(s, e)
	}
	if len(s.Endpoints) != account.MaxEndpoints || s.Endpoints[7].ID != "7" {
		t.Errorf("%d endpoints", len(s.Endpoints))
	}
	if e, err := account.DecideCreateEndpoint(s, account.CreateEndpoint{At: at}); e != nil || domain.ReasonOf(err) != domain.ReasonRequestValidation {
		t.Errorf("one endpoint more than may be: %v, %v", e, err)
	}

	rows := []struct {
		endpoint account.Endpoint
		want     bool
	}{
		{account.Endpoint{Enabled: true}, true},
		{account.Endpoint{Enabled: true, EventTypes: []string{"PAYMENT.STATUS"}}, true},
		{account.Endpoint{Enabled: true, EventTypes: []string{"DISPUTE.OPENED"}}, false},
		{account.Endpoint{EventTypes: []string{"PAYMENT.STATUS"}}, false},
	}
	for _, row := range rows {
		if got := row.endpoint.Wants("PAYMENT.STATUS"); got != row.want {
			t.Errorf("%+v wants PAYMENT.STATUS: %v", row.endpoint, got)
		}
	}
}

// TestScopes: all of D2, none twice.
func TestScopes(t *testing.T) {
	seen := map[string]bool{}
	for _, scope := range account.Scopes {
		seen[scope] = true
	}
	if len(seen) != 14 || len(account.Scopes) != 14 {
		t.Errorf("scopes are %v", account.Scopes)
	}
}
