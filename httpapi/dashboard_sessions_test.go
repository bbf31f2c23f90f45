package httpapi_test

import (
	"testing"

	"payledger/domain/account"
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
