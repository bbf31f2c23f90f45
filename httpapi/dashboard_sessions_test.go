package httpapi_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"payledger/domain/account"
	"payledger/eventstore/eventstoretest"
)

// TestSessionsPage checks that the page has every open session with the address of its browser,
// that an ended session is over at once, and that a second click changes nothing. Users who are no
// administrators end their own sessions only (D20).
func TestSessionsPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	auditor, second := s.as(account.RoleAuditor), s.browserOf()
	second.signInAs(s.account.DashboardUser, s.account.DashboardPassword)
	s.open("/dashboard/sessions")
	s.shows(200, "this browser", "auditor@example.com", "127.0.0.1", "End 2 other sessions")
	before := s.events()
	of := s.value("session")
	auditor.open("/dashboard/sessions")
	auditor.shows(200, "admin", "this browser")
	auditor.lacks("<button class=\"compact danger\"")
	auditor.submit("/dashboard/sessions", "session", of)
	auditor.shows(403, "Your role does not allow this")
	auditor.submit("/dashboard/sessions", "do", "all")
	auditor.shows(200, "It had ended already.")
	if n := s.events() - before; n != 0 {
		t.Fatalf("the auditor ended %d sessions", n)
	}
	for _, text := range []string{"The session is ended.", "It had ended already. Nothing was changed."} {
		s.submit("/dashboard/sessions", "session", of)
		s.shows(200, text)
	}
	second.open("/dashboard/payments")
	second.shows(401)
	s.submit("/dashboard/sessions", "do", "all")
	s.shows(200, "All sessions but yours are ended.", "this browser")
	auditor.open("/dashboard/payments")
	auditor.shows(401)
	if n := s.events() - before; n != 2 {
		t.Errorf("%d events for two sessions", n)
	}
	s.open("/dashboard/audit-log")
	s.shows(200, "Signed out")
}

// TestReadOnlyKey: the page of keys ticks exactly the reading scopes at a link, and has them apart
// from the changing ones. The words name the scopes that read personal data.
func TestReadOnlyKey(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	ticked := regexp.MustCompile(`name="scopes" value="([a-z_:]+)" checked`)
	for page, want := range map[string]string{
		"/dashboard/api-keys":             "transactions:retrieve",
		"/dashboard/api-keys?scopes=read": "transactions:retrieve payment_instrument:read events:read account:read",
	} {
		s.open(page)
		s.shows(200, "Read payments with the personal data of their customers", "Read everything that this dashboard shows: all payments with the personal data of their customers,", "and the audit log account:read")
		s.shows(200, "Read only", "These change nothing and move no money.", "destroy the personal data of a customer or guest for ever")
		var got []string
		for _, m := range ticked.FindAllStringSubmatch(s.now.text, -1) {
			got = append(got, m[1])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s ticks %q, not %q", page, got, want)
		}
	}
	if reads, changes := strings.Index(s.now.text, `value="account:read"`), strings.Index(s.now.text, "<h3>Changing</h3>"); reads < 0 || changes < reads {
		t.Errorf("the reading scopes are not before the changing ones: %d, %d", reads, changes)
	}
}

// TestOrderOfLists: the page of API keys begins with the newest one, also of more keys than a page
// of the API has. The endpoints begin with the oldest one, and the way on leads to newer ones.
func TestOrderOfLists(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, r := newHookSite(t)
	for i := range 101 {
		s.want(s.manage("POST", "/api-keys", fmt.Sprintf(`{"name":"key %d","scopes":["events:read"]}`, i)), 200, "")
	}
	for i := range 21 {
		s.want(s.manage("POST", "/webhook-endpoints", fmt.Sprintf(`{"url":"%s/%d","description":"endpoint %d"}`, r.inbox.url, i, i)), 200, "")
	}
	s.open("/dashboard/api-keys")
	s.shows(200, "Actions key 100 ", " key 0 ")
	s.lacks("Older entries")
	s.open("/dashboard/endpoints")
	s.shows(200, "endpoint 0 ", "endpoint 19 ", "Newer endpoints")
	s.lacks("endpoint 20", "Older entries")
	next := regexp.MustCompile(`href="([^"]*)" rel="next"`).FindStringSubmatch(s.now.text)
	s.open(html.UnescapeString(next[1]))
	s.shows(200, "endpoint 20 ")
}
