package management_test

import (
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands/accounts"
	"payledger/httpapi/request"
)

// ada is a user with every field.
func ada() account.User {
	return account.User{
		ID: "ada", Name: "ada@shop.example", Role: account.RoleAuditor, Password: "password.secret", CreatedAt: noon, SignedInAt: noon.Add(-time.Minute),
		TOTP: "totp.secret", TOTPBegun: "totp.begun", TOTPLast: "totp.last", TOTPCounter: 77, Failures: 3, FailedAt: noon, LockedUntil: noon.Add(time.Microsecond),
	}
}

const adaFields = `"id":"ada","email":"ada@shop.example","role":"auditor","createdAt":` + noonText + `,"lastSignInAt":"2026-03-14T11:59:00.000000Z","totpEnabled":true,` +
	`"lockedUntil":"2026-03-14T12:00:00.000001Z"`

// TestListUsers checks that the list has every field of each user, without secrets and their names.
// A lock that is over is not shown. The first user was created with the account (D20).
func TestListUsers(t *testing.T) {
	r := newRig(t)
	unlocked := account.User{ID: "ben", Name: "admin", Role: account.RoleAdmin, Password: "password.secret", TOTPBegun: "totp.begun", LockedUntil: noon}
	r.merchant.Users = []account.User{ada(), unlocked}
	const ben = `{"id":"ben","email":"admin","role":"admin","createdAt":"2025-03-14T12:00:00.000000Z","totpEnabled":false}`
	r.answered(`{"data":[{` + adaFields + `},` + ben + `]}`)(r.h.ListUsers(r.with()))
	cursor := r.page(`{"data":[{` + adaFields + `}]`)(r.h.ListUsers(r.query("limit=1")))
	r.answered(`{"data":[` + ben + `]}`)(r.h.ListUsers(r.query("cursor=" + cursor)))
	r.invalid("QueryString", "$.cursor", "is not a cursor of this list")(r.h.ListUsers(r.query("cursor=admin")))
}

// TestCreateUser checks that the command gets the address and the role, and that the answer has the
// password.
func TestCreateUser(t *testing.T) {
	r := newRig(t)
	r.user, r.shownOnce = ada(), "once"
	r.answered(`{` + adaFields + `,"password":"once"}`)(request.WithBody(r.h.CreateUser)(r.body(`{"email":" Ada@shop.example ","role":"auditor"}`)))
	r.changed("AddUser", accounts.UserInput{Email: " Ada@shop.example ", Role: account.RoleAuditor})
}

// TestChangeUser checks that the user of the path gets the change of the body. Only the answer to a
// reset has a password.
func TestChangeUser(t *testing.T) {
	r := newRig(t)
	r.merchant.Users = []account.User{ada()}
	r.user = ada()
	change := request.WithBody(r.h.ChangeUser)
	r.answered(`{` + adaFields + `}`)(change(r.body(`{"role":"operator","disableTotp":true}`, "id", "ada")))
	role := account.RoleOperator
	r.changed("ChangeUser", domain.UserID("ada"), accounts.UserChange{Role: &role, DisableTOTP: true})

	r.shownOnce = "once"
	r.answered(`{` + adaFields + `,"password":"once"}`)(change(r.body(`{"resetPassword":true}`, "id", "ada")))
	r.changed("ChangeUser", domain.UserID("ada"), accounts.UserChange{ResetPassword: true})

	r.refused(domain.ReasonEntityNotFound, "There is no user of this id.")(change(r.body(`{"resetPassword":true}`, "id", "ben")))
	r.made()
}

// TestOwnPassword checks that a user does not reset the own password, nor turn off the own codes,
// with a session alone. Other changes of the own user, and a reset by another user, are allowed
// (D20).
func TestOwnPassword(t *testing.T) {
	r := newRig(t)
	r.merchant.Users = []account.User{ada(), {ID: "ben", Role: account.RoleAdmin}}
	change := func(id, body string) (any, error) {
		c := r.body(body, "id", id)
		c.Actor = "user:ada"
		return request.WithBody(r.h.ChangeUser)(c)
	}
	for _, body := range []string{`{"resetPassword":true}`, `{"disableTotp":true}`, `{"role":"admin","disableTotp":true}`} {
		r.invalid("Body", "$", "must not change your own password or codes: use Your account in the dashboard")(change("ada", body))
	}
	r.made()
	for id, body := range map[string]string{"ada": `{"role":"operator","resetPassword":false}`, "ben": `{"resetPassword":true,"disableTotp":true}`} {
		if _, err := change(id, body); err != nil {
			t.Errorf("%s, %s: %s", id, body, err)
		}
	}
}

// TestRolesGivenByAKey checks that a key makes no user, and takes over none, with scopes that the
// key lacks. A key that expires does neither at all: a user does not expire (D2).
func TestRolesGivenByAKey(t *testing.T) {
	auditors := append(account.RoleAuditor.Scopes(), account.ScopeAccountWrite)
	expiry := noon.Add(time.Hour)
	of := func(scopes []string, expires *time.Time) account.APIKey {
		return account.APIKey{Scopes: scopes, ExpiresAt: expires}
	}
	const lacks, ends = "has scopes that the API key lacks: ", "The API key expires, and a user does not."
	for _, c := range []struct {
		name       string
		key        account.APIKey
		user, body string // user "": a new one
		refused    string // "": allowed
	}{
		{"adds an auditor", of(auditors, nil), "", `{"email":"x@shop.example","role":"auditor"}`, ""},
		{"adds an operator", of(auditors, nil), "", `{"email":"x@shop.example","role":"operator"}`,
			"The role operator " + lacks + "transactions:capture, transactions:cancel, transactions:refund."},
		{"adds an admin", of(auditors, nil), "", `{"email":"x@shop.example","role":"admin"}`, "The role admin " + lacks},
		{"adds an auditor, expires", of(auditors, &expiry), "", `{"email":"x@shop.example","role":"auditor"}`, ends},
		{"promotes", of(auditors, nil), "ada", `{"role":"admin"}`, "The role admin " + lacks},
		{"demotes", of(auditors, nil), "ben", `{"role":"auditor"}`, ""},
		{"promotes, expires", of(account.Scopes, &expiry), "ada", `{"role":"auditor"}`, ends},
		{"resets an auditor", of(auditors, nil), "ada", `{"resetPassword":true}`, ""},
		{"resets an admin", of(auditors, nil), "ben", `{"resetPassword":true}`, "The role admin " + lacks},
		{"resets an admin, makes an auditor", of(auditors, nil), "ben", `{"resetPassword":true,"role":"auditor"}`, "The role admin " + lacks},
		{"takes an admin's codes away", of(auditors, nil), "ben", `{"disableTotp":true}`, "The role admin " + lacks},
		{"resets an auditor, makes an admin", of(auditors, nil), "ada", `{"resetPassword":true,"role":"admin"}`, "The role admin " + lacks},
		{"resets, expires", of(account.Scopes, &expiry), "ada", `{"resetPassword":true}`, ends},
		{"changes nothing", of(nil, &expiry), "ben", `{"resetPassword":false,"disableTotp":false}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.key = c.key
			r.merchant.Users = []account.User{ada(), {ID: "ben", Role: account.RoleAdmin}}
			handle := request.WithBody(r.h.ChangeUser)
			if c.user == "" {
				handle = request.WithBody(r.h.CreateUser)
			}
			got, err := handle(r.body(c.body, "id", c.user))
			if c.refused != "" {
				r.refused(domain.ReasonMissingScope, c.refused)(got, err)
				r.made()
			} else if must(t, err); len(r.calls) != 2 {
				t.Errorf("called %v", r.calls)
			}
		})
	}
}

// TestRemoveUser checks that the user of the path is removed. The answer is the user as it was,
// without a password.
func TestRemoveUser(t *testing.T) {
	r := newRig(t)
	r.user, r.shownOnce = ada(), "once"
	r.answered(`{` + adaFields + `}`)(r.h.RemoveUser(r.with("id", "ada")))
	r.changed("RemoveUser", domain.UserID("ada"))
}

// TestUserRules: an address of a user is a plain e-mail address. A fault that the schema has found
// is not repeated.
func TestUserRules(t *testing.T) {
	r := newRig(t)
	const fault = "$.email must be an e-mail address of at most 254 ASCII characters, such as name@example.com, without a display name"
	for body, want := range map[string][]string{
		`{"email":" Ada@Shop.example "}`:       nil,
		`{}`:                                   nil,
		`{"email":7}`:                          nil,
		`{"email":"Ada <ada@shop.example>"}`:   {fault},
		`{"email":"ad\u00e4@shop.example"}`:    {fault},
		`{"email":"","role":"owner","more":1}`: {fault},
	} {
		same(t, body, r.faults("createUser", r.body(body)), want)
	}
	same(t, "found by the schema", r.faults("createUser", r.body(`{"email":"x"}`), domain.Violation{Path: "$.email", Description: "is too short"}), nil)
}
