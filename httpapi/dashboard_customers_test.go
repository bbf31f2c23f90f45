package httpapi_test

import (
	"net/url"
	"strings"
	"testing"

	"payledger/domain/account"
	"payledger/eventstore/eventstoretest"
)

// TestCustomerPages checks that the list has every customer once, also with ids that need escaping,
// that a page has payments, e-mail address, and saved cards without their tokens, and that an
// erasure wants the id typed. A form from before another erasure erases nothing: the customer may
// have come back since (D20).
func TestCustomerPages(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	s.open("/dashboard/customers")
	s.shows(200, "There is no customer")
	ids := []string{"zen", "a/../b <i>", "عميل"}
	for _, id := range ids {
		for range 2 {
			s.want(s.pay(payWith(s.cardOf(s.session(zenobiaSession(id))))), 200, "")
		}
	}
	token := s.cardOf(s.session(zenobiaSession("zen")))
	s.want(s.post("/payment-instruments/"+token+"/vault", `{"customerId":"zen"}`), 200, "")
	s.open("/dashboard/customers")
	s.shows(200, ids...)
	if n := strings.Count(s.now.text, "/dashboard/customers/one?"); n != 3 {
		t.Errorf("%d customers", n)
	}
	for _, id := range ids {
		s.open("/dashboard/customers?customer=" + url.QueryEscape(id))
		s.shows(200, id, "All payments")
	}
	s.open("/dashboard/customers?customer=nobody")
	s.shows(422, "There is no customer with exactly this id.", "zen")
	s.open("/dashboard/customers/one?id=nobody")
	s.shows(404, "The account has no such customer.")
	s.open("/dashboard/customers/one?id=zen")
	s.shows(200, "Visa ••••\u00a01111", "03/2029")
	s.lacks(token)
	s.shows(200, "2 payments", "E-mail address: zenobia@example.com", "EUR 2 €20.00 €0.00 €0.00", "Authorized €10.00 – – order-1")
	if n := strings.Count(s.now.text, `<tr data-opens="/dashboard/payments/`); n != 2 {
		t.Errorf("%d payments are listed", n)
	}
	s.eraseInTwoTabs(t)
	s.open("/dashboard/customers/one?id=zen")
	s.shows(200, "3 payments", "E-mail address: none that can be shown")
	s.session(zenobiaSession("new"))
	s.open("/dashboard/customers/one?id=new")
	s.shows(200, "There is no payment yet", "There is no saved card")
}

// TestCustomerWhoseIDEndsInASlash: a customer's id is taken as it is, also if it ends in a slash:
// neither the API nor the dashboard reads or erases the customer without it.
func TestCustomerWhoseIDEndsInASlash(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	payments := map[string]string{}
	for _, id := range []string{"a", "a/", "a//"} {
		payments[id] = s.want(s.pay(payWith(s.cardOf(s.session(zenobiaSession(id))))), 200, "").text1("id")
	}
	for id := range payments {
		if got := s.want(s.manage("GET", "/customers/"+url.PathEscape(id), ""), 200, "").text1("customerId"); got != id {
			t.Errorf("%q is answered with %q", id, got)
		}
		s.open("/dashboard/customers?customer=" + url.QueryEscape(id))
		if want := "/dashboard/customers/one?id=" + url.QueryEscape(id); s.now.at != want {
			t.Errorf("%q leads to %s", id, s.now.at)
		}
	}
	for _, unknown := range []string{"a///", "b/", "/", ""} {
		s.open("/dashboard/customers/one?id=" + url.QueryEscape(unknown))
		s.shows(404, "The account has no such customer.")
	}
	s.want(s.manage("GET", "/customers/", ""), 200, "").field("data") // the list
	const at = "/dashboard/customers/erase?id=a%2F"
	s.open(at)
	s.submit(at, "seen", s.value("seen"), "confirm", "a/")
	s.shows(200, "The personal data is erased.")
	for id, payment := range payments {
		if erased := len(showsHer(s.get("/payments/"+payment).text)) == 0; erased != (id == "a/") {
			t.Errorf("%q is erased: %t", id, erased)
		}
	}
}

// eraseInTwoTabs erases the customer zen from a tab, and lets another tab, which was opened before,
// send its form after the customer has come back.
func (s *site) eraseInTwoTabs(t *testing.T) {
	t.Helper()
	const at = "/dashboard/customers/erase?id=zen"
	s.open(at)
	s.shows(200, "Destroyed for ever:", "saved card")
	seen := s.value("seen")
	before := s.events()
	s.submit(at, "seen", "2026-03-14T09:30:00.000000Z", "confirm", "zen")
	s.shows(409, "Nothing was done.", "The form names an erasure that is not known here.")
	s.submit(at, "seen", seen, "confirm", "ben")
	s.shows(422, "Write the customer's id exactly as above.")
	s.holds(`value="ben"`)
	if n := s.events() - before; n != 0 {
		t.Fatalf("%d events without a confirmation", n)
	}
	s.submit(at, "seen", seen, "confirm", "zen")
	s.shows(200, "The personal data is erased.", "The personal data was erased", "There is no saved card")
	back := s.want(s.pay(payWith(s.cardOf(s.session(zenobiaSession("zen"))))), 200, "").text1("id")
	before = s.events()
	s.submit(at, "seen", seen, "confirm", "zen")
	s.shows(409, "Nothing was done.", "The customer was erased since you opened this page")
	s.submit(at, "seen", seen, "confirm", "zen", "_review", "yes")
	s.shows(409, "The customer was erased since you opened this page")
	if n := s.events() - before; n != 0 || len(showsHer(s.get("/payments/"+back).text)) == 0 {
		t.Errorf("the old form recorded %d events", n)
	}
	s.open(at)
	s.submit(at, "seen", s.value("seen"), "confirm", "zen")
	s.shows(200, "The personal data is erased.")
	if found := showsHer(s.get("/payments/" + back).text); len(found) > 0 {
		t.Errorf("the payment shows %v", found)
	}
	s.open("/dashboard/audit-log")
	s.shows(200, "Personal data erased")
}

// TestCustomersByRole checks that operators and auditors see customers and erase none.
func TestCustomersByRole(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.want(s.pay(payWith(s.cardOf(s.session(zenobiaSession("zen"))))), 200, "")
	for _, role := range []account.Role{account.RoleOperator, account.RoleAuditor} {
		b := s.as(role)
		b.open("/dashboard/customers")
		b.shows(200, "zen")
		b.open("/dashboard/customers/one?id=zen")
		b.shows(200, "zen")
		b.lacks("/dashboard/customers/erase")
		before := s.events()
		b.submit("/dashboard/customers/erase?id=zen", "seen", "", "confirm", "zen")
		b.shows(403, "Your role does not allow this")
		if n := s.events() - before; n != 0 {
			t.Errorf("the %s recorded %d events", role, n)
		}
	}
}

// TestEraseGuestPage: an administrator erases the guest of a payment after its id is typed; others
// see no such button, and a form that is sent again changes nothing.
func TestEraseGuestPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	id := s.want(s.pay(payWith(s.cardOf(s.session(zenobiaSession(""))))), 200, "").text1("id")
	at := "/dashboard/payments/" + id
	operator := s.as(account.RoleOperator)
	operator.open(at)
	operator.lacks(at + "/erase")
	before := s.events()
	operator.submit(at+"/erase", "confirm", id)
	operator.shows(403, "Your role does not allow this")
	s.open(at)
	s.holds(at + "/erase")
	s.open(at + "/erase")
	s.shows(200, "Erase a guest", "Destroyed for ever:")
	s.submit(at+"/erase", "confirm", "another")
	s.shows(422, "Write the payment's id exactly as above.")
	if n := s.events() - before; n != 0 {
		t.Fatalf("%d events without a confirmation", n)
	}
	for i := range 2 {
		before = s.events()
		s.submit(at+"/erase", "confirm", id)
		s.shows(200, "The personal data is erased.", "The personal data was erased")
		if n := s.events() - before; (n > 0) != (i == 0) {
			t.Errorf("form %d recorded %d events", i, n)
		}
	}
	s.lacks(at + "/erase")
	if found := showsHer(s.get("/payments/" + id).text); len(found) > 0 {
		t.Errorf("the payment shows %v", found)
	}
	customer := s.want(s.pay(payWith(s.cardOf(s.session(zenobiaSession("zen"))))), 200, "").text1("id")
	s.open("/dashboard/payments/" + customer + "/erase")
	s.lacks("Erase a guest")
}
