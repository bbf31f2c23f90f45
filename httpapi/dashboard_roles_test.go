package httpapi_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"payledger/domain/account"
	"payledger/eventstore/eventstoretest"
	"payledger/httpapi/dashboard"
	"payledger/httpapi/dashboard/frame"
)

// wildcard is the placeholder of an id in a route's path.
var wildcard = regexp.MustCompile(`\{[a-z]+\}`)

// forAllRoles are the pages that show a list beside the form of the same address. The form is for
// administrators.
var forAllRoles = []string{"/dashboard/users", "/dashboard/api-keys", "/dashboard/settings", "/dashboard/reconciliation"}

// TestSignInAfterAForm: who sends a form without a session comes, after the sign-in, to a page of
// the dashboard, also if nothing but the form is at its address and no input is kept.
func TestSignInAfterAForm(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for at, page := range map[string]string{
		"/dashboard/me/password": "/dashboard/me", "/dashboard/me/factor": "/dashboard/me", "/dashboard/me/factor/confirm": "/dashboard/me",
		"/dashboard/me/factor/disable": "/dashboard/me", "/dashboard/approvals/x/abort": "/dashboard/approvals/x", "/dashboard/sessions": "/dashboard/sessions",
		"/dashboard/users": "/dashboard/users", "/dashboard/customers/erase?id=a": "/dashboard/customers/erase?id=a",
	} {
		b := s.browserOf()
		b.submit(at, "code", "123456", "old", "secret")
		b.shows(401, "Nothing was done.")
		b.lacks("your input is shown again")
		b.submit("/dashboard/login", "email", s.account.DashboardUser, "password", s.account.DashboardPassword, "next", b.value("next"))
		if b.now.at != page {
			t.Errorf("%s leads to %s with %d, not to %s", at, b.now.at, b.now.status, page)
		}
	}
	s.signIn()
	for _, nowhere := range []string{"/dashboard/nothing", "/dashboard/me/nothing", "/dashboard/approvals/x/nothing"} {
		s.open(nowhere)
		s.shows(404, "The dashboard has no page at this address.")
	}
}

// TestFormsCheckTheRoleFirst: the role is checked before ids and fields. An auditor gets 403 for
// every form of the dashboard: when it opens it, and when it sends it without fields, with fields
// that are out of date, or again after a sign-in. An operator gets 403 where only an administrator
// may act.
func TestFormsCheckTheRoleFirst(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	stale := []string{"mark", "stale", "replaces", "stale", "version", "0", "key", "k", "place", "9", "step", "send", "change", "role", "do", "save"}
	operators := regexp.MustCompile(`^/dashboard/(endpoints/x/test|deliveries/x/resend|replays/new|bulk/[a-z]+|payments/x/[a-z]+|reconciliation)$`)
	forms := dashboard.Forms()
	if len(forms) < 20 {
		t.Fatalf("only %d forms: %q", len(forms), forms)
	}
	for _, role := range []account.Role{account.RoleAuditor, account.RoleOperator} {
		b := s.as(role)
		before := s.events()
		for _, form := range forms {
			at := wildcard.ReplaceAllString(strings.TrimPrefix(form, "POST "), "x")
			if role == account.RoleOperator && operators.MatchString(at) {
				continue
			}
			opened := slices.Contains(dashboard.Pages(), "GET"+strings.TrimPrefix(form, "POST"))
			if opened && !slices.Contains(forAllRoles, at) {
				b.open(at)
				b.shows(403, "Your role does not allow this", "Ask an administrator of your account")
				if !strings.Contains(b.now.text, `<a href="/dashboard/users">Users</a>`) {
					t.Errorf("%s does not link to the users: %s", at, b.now.text)
				}
			}
			for _, fields := range [][]string{nil, stale, {frame.ReviewField, "1"}} {
				b.submit(at, fields...)
				b.shows(403, "Your role does not allow this")
			}
		}
		for _, at := range forAllRoles {
			b.open(at)
			b.shows(200)
			if role == account.RoleAuditor || !operators.MatchString(at) {
				b.lacks(`action="` + at + `"`)
			}
		}
		if n := s.events() - before; n != 0 {
			t.Errorf("the %s made %d changes", role, n)
		}
	}
}
