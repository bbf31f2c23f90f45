package httpapi_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
)

// accountNow reads the rig's account at the log.
func (r *rig) accountNow() account.State {
	r.t.Helper()
	id := r.views.Accounts()[0].ID
	s, found, err := r.views.AccountNow(context.Background(), id)
	if err != nil || !found {
		r.t.Fatal(err, found)
	}
	return s
}

// user adds a dashboard user.
func (r *rig) user(email, role string) answer {
	r.t.Helper()
	return r.want(r.manage("POST", "/users", fmt.Sprintf(`{"email":%q,"role":%q}`, email, role)), 200, "")
}

// TestUsers checks that a new user gets a generated password, shown once. Lists and changes show
// all other fields (D20).
func TestUsers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.accountNow()
	made := r.user(" Ada@Shop.example ", "operator")
	id, password := made.text1("id"), made.text1("password")
	as := func(id, email, role, created string) string {
		return fmt.Sprintf(`{"id":%q,"email":%q,"role":%q,"createdAt":%q,"totpEnabled":false}`, id, email, role, created)
	}
	admin := as(string(first.Users[0].ID), "admin", "admin", first.CreatedAt.UTC().Format("2006-01-02T15:04:05.000000Z"))
	sameJSON(t, "list", r.want(r.manage("GET", "/users", ""), 200, ""),
		`{"data":[`+admin+`,`+as(id, "ada@shop.example", "operator", made.text1("createdAt"))+`]}`)
	if got := r.pages("/users", "email", 1); !slices.Equal(got, []string{"admin", "ada@shop.example"}) {
		t.Errorf("pages have %q", got)
	}
	opens := func(password string) bool {
		user, _ := r.accountNow().User(domain.UserID(id))
		verifier, err := r.service.Base.Secrets.Get(context.Background(), user.Password)
		return err == nil && secrets.CheckPassword(verifier, password)
	}
	if !opens(password) || len(password) != 24 {
		t.Error("the answered password does not open")
	}
	for _, c := range []struct {
		sent    string
		role    string
		records uint64
	}{
		{`{}`, "operator", 0},
		{`{"role":"operator","resetPassword":false,"disableTotp":true}`, "operator", 0},
		{`{"role":"auditor"}`, "auditor", 1},
	} {
		before := r.events()
		sameJSON(t, c.sent, r.want(r.manage("PATCH", "/users/"+id, c.sent), 200, ""), as(id, "ada@shop.example", c.role, made.text1("createdAt")))
		if n := r.events() - before; n != c.records {
			t.Errorf("%s recorded %d events", c.sent, n)
		}
	}
	reset := r.want(r.manage("PATCH", "/users/"+id, `{"resetPassword":true,"role":"admin"}`), 200, "")
	if opens(password) || !opens(reset.text1("password")) || reset.text1("role") != "admin" {
		t.Errorf("after the reset: %s", reset.text)
	}
	if list := r.want(r.manage("GET", "/users", ""), 200, ""); strings.Contains(list.text, "password") {
		t.Errorf("the list is %s", list.text)
	}
	removed := r.want(r.manage("DELETE", "/users/"+id, ""), 200, "")
	sameJSON(t, "removed", removed, as(id, "ada@shop.example", "admin", made.text1("createdAt")))
	r.want(r.manage("DELETE", "/users/"+id, ""), 404, "EntityNotFound")
	r.want(r.manage("PATCH", "/users/"+id, `{"role":"admin"}`), 404, "EntityNotFound")
	if s := r.accountNow(); len(s.Users) != 1 || len(s.RemovedUsers) != 1 || s.RemovedUsers[0].Name != "ada@shop.example" {
		t.Errorf("the account has %+v and %+v", s.Users, s.RemovedUsers)
	}
	r.user("ada@shop.example", "auditor") // the address is free again
}

// TestUserFaults: all faults of a request at once; an address is unique, and one admin remains (D3,
// D20).
func TestUserFaults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.user("ada@shop.example", "auditor").text1("id")
	admin := string(r.accountNow().Users[0].ID)
	const address = "must be an e-mail address of at most 254 ASCII characters, such as name@example.com, without a display name"
	before := r.events()
	for _, c := range []struct {
		method, path, body string
		want               []string
	}{
		{"POST", "/users", `{}`, []string{"UserRequest $.email is required", "UserRequest $.role is required"}},
		{"POST", "/users", `{"email":"Ada <ada@shop.example>","role":"owner","x":1}`, []string{
			"UserRequest $.email " + address, "UserRequest $.role must be one of admin, operator, auditor", "UserRequest $.x is not a known field",
		}},
		{"POST", "/users", `{"email":"adä@shop.example","role":"admin"}`, []string{"UserRequest $.email " + address}},
		{"POST", "/users", `{"email":"ADA@shop.example","role":"admin"}`, []string{"UserRequest $.email is the address of another user of this account"}},
		{"PATCH", "/users/" + id, `{"role":"","resetPassword":"yes","email":"x@y.z"}`, []string{
			"UserChange $.email is not a known field", "UserChange $.resetPassword must be true or false", "UserChange $.role must be one of admin, operator, auditor",
		}},
		{"PATCH", "/users/" + admin, `{"role":"operator"}`, []string{"UserChange $.role must stay admin: admin is the account's only admin; make another user an admin first"}},
		{"DELETE", "/users/" + admin, "", []string{"User $.role admin is the account's only admin and stays; make another user an admin first"}},
	} {
		a := r.want(r.manage(c.method, c.path, c.body), 422, "RequestValidationError")
		if !slices.Equal(a.faults(), c.want) {
			t.Errorf("%s %s %s: %q", c.method, c.path, c.body, a.faults())
		}
	}
	r.want(r.manage("DELETE", "/users/nobody", ""), 404, "EntityNotFound")
	if r.events() != before {
		t.Error("a refused request recorded an event")
	}
	if names := r.vaultNames("password"); len(names) != 2 {
		t.Errorf("stored are %q", names)
	}
	r.want(r.manage("PATCH", "/users/"+id, `{"role":"admin"}`), 200, "")
	r.want(r.manage("DELETE", "/users/"+admin, ""), 200, "")
	if names := r.vaultNames("password"); len(names) != 1 || !strings.Contains(names[0], id) {
		t.Errorf("stored are %q", names)
	}
}

// vaultNames are the names of the stored secrets of a kind.
func (r *rig) vaultNames(kind string) []string {
	r.t.Helper()
	values, err := r.store.OpenSecrets(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	names, err := values.Names(context.Background(), kind)
	if err != nil {
		r.t.Fatal(err)
	}
	return names
}

// TestKeyGivesItsRights: a key makes no user, and takes over none, that may do more than the key
// itself (D2).
func TestKeyGivesItsRights(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	admin := string(r.accountNow().Users[0].ID)
	auditor := r.user("audit@shop.example", "auditor").text1("id")
	_, key := r.newKey(`"account:read","account:write","transactions:retrieve","payment_instrument:read","events:read"`)
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/users", `{"email":"x@shop.example","role":"operator"}`},
		{"POST", "/users", `{"email":"x@shop.example","role":"admin"}`},
		{"PATCH", "/users/" + auditor, `{"role":"admin"}`},
		{"PATCH", "/users/" + admin, `{"resetPassword":true}`},
		{"PATCH", "/users/" + admin, `{"disableTotp":true}`},
	} {
		a := r.want(r.with(key, c.method, c.path, c.body), 403, "MissingScope")
		if !strings.Contains(a.text, "transactions:refund") {
			t.Errorf("%s is refused with %s", c.body, a.text)
		}
	}
	r.want(r.with(key, "POST", "/users", `{"email":"x@shop.example","role":"auditor"}`), 200, "")
	r.want(r.with(key, "PATCH", "/users/"+auditor, `{"resetPassword":true}`), 200, "")
	end := r.now().Add(time.Hour).UTC().Format(time.RFC3339)
	expires := r.want(r.manage("POST", "/api-keys", `{"name":"n","scopes":["account:read","account:write","transactions:retrieve","payment_instrument:read","events:read"],"expiresAt":"`+end+`"}`), 200, "").text1("apiKey")
	r.want(r.with(expires, "POST", "/users", `{"email":"y@shop.example","role":"auditor"}`), 403, "MissingScope")
	_, reads := r.newKey(`"account:read"`)
	r.want(r.with(reads, "GET", "/users", ""), 200, "")
	r.want(r.with(reads, "POST", "/users", `{"email":"z@shop.example","role":"auditor"}`), 403, "MissingScope")
	r.want(r.with(reads, "DELETE", "/users/"+auditor, ""), 403, "MissingScope")
}

// TestStaffIsHidden: the addresses of users are in the account's events, and neither in GET /events
// nor in their actors (I2).
func TestStaffIsHidden(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r, _ := newFeedRig(t)
	r.user("ada@shop.example", "operator")
	owner := r.accountNow().ID
	tip, err := eventstore.NewRepositories(r.store).Accounts.Load(context.Background(), owner, owner, eventstore.Latest)
	if err != nil {
		t.Fatal(err)
	}
	who := tip.State.Users[1]
	_, err = commands.Request(context.Background(), commands.NewBase(commands.Config{Store: r.store}), commands.Caller{Account: owner, Actor: "user:" + string(who.ID), RequestID: "sign-in"},
		eventstore.NewRepositories(r.store).Accounts.Execute, owner, func(s account.State, at time.Time) (account.Event, error) {
			return account.DecideSignIn(s, account.SignIn{At: at, User: who.ID, Proof: account.Proof{Password: who.Password}, Session: "session-of-ada", From: "192.0.2.77"})
		})
	if err != nil {
		t.Fatal(err)
	}
	r.positioned()
	all := r.want(r.get("/events?after=0&limit=1000"), 200, "")
	for _, hidden := range []string{"ada@shop", "192.0.2.77", "session-of-ada", `"admin"`} {
		if strings.Contains(all.text, hidden) {
			t.Errorf("GET /events has %s", hidden)
		}
	}
	for _, shown := range []string{"account.user_added", "account.user_signed_in", "user:" + string(who.ID)} {
		if !strings.Contains(all.text, shown) {
			t.Errorf("GET /events lacks %s", shown)
		}
	}
}
