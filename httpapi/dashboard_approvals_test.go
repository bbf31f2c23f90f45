package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"payledger/domain/account"
	"payledger/eventstore/eventstoretest"
)

// TestApprovalPages checks that the list has the attempts that wait, and that a decision from two
// tabs is carried out once: two approvals lead to one payment, an abort after an approval and an
// approval after an abort change nothing, and the page shows how the attempt ended (§3.3, D5).
func TestApprovalPages(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	s.open("/dashboard/approvals")
	s.shows(200, "Nothing waits for a decision")
	var ids []string
	for range 3 {
		client := s.session(manualSession)
		ids = append(ids, s.attempt(client, s.tokenize(client, goodCard)))
	}
	s.open("/dashboard/approvals")
	s.shows(200, "€24.20", "Visa ••••\u00a01111")
	for _, id := range ids {
		s.holds(`href="/dashboard/approvals/` + id + `"`)
	}
	at := "/dashboard/approvals/" + ids[0]
	s.open(at)
	s.shows(200, "Payment attempt of €24.20", "Requires approval")
	price := s.value("price")
	before := s.events()
	s.submit(at+"/approve", "price", "€0.01")
	s.shows(409, "Nothing was done.", "The price has changed since you opened this page")
	if n := s.events() - before; n != 0 {
		t.Fatalf("%d events of another price", n)
	}
	for range 2 {
		s.submit(at+"/approve", "price", price)
		s.shows(200, "The attempt is approved: this is its payment.", "Authorized")
	}
	payment := path(s.now.at)
	before = s.events()
	s.submit(at+"/abort", "reason", "none is left")
	s.shows(409, "Nothing was done.", "Approved", "Show the payment")
	s.holds(`href="` + payment + `"`)
	at = "/dashboard/approvals/" + ids[1]
	s.submit(at+"/abort", "reason", strings.Repeat("x", 300))
	s.shows(422, "Approve")
	s.holds(strings.Repeat("x", 300))
	if n := s.events() - before; n != 0 {
		t.Fatalf("%d events of refused forms", n)
	}
	for range 2 {
		s.submit(at+"/abort", "reason", hostileText)
		s.shows(200, "The attempt is aborted. There is no payment.")
	}
	s.submit(at+"/approve", "price", price)
	s.shows(409, "Nothing was done.", "Aborted", "Reason: "+hostileText)
	s.open("/dashboard/approvals")
	s.holds(ids[2])
	s.lacks(ids[0], ids[1])
	s.open("/dashboard/audit-log")
	s.shows(200, "Payment attempt approved", "Payment attempt aborted")
	s.open("/dashboard/approvals/unknown")
	s.shows(404, "The account has no such payment attempt.")
	s.late.Store(30 * 24 * 3600)
	s.signIn()
	s.open("/dashboard/approvals/" + ids[2])
	s.shows(200, "Expired", "Nobody decided in time.")
	s.open("/dashboard/approvals")
	s.shows(200, "Nothing waits for a decision")
}

// TestApprovalsByRole checks that operators and auditors see attempts and decide about none, as
// with API keys of their scopes.
func TestApprovalsByRole(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	client := s.session(manualSession)
	id := s.attempt(client, s.tokenize(client, goodCard))
	for _, role := range []account.Role{account.RoleOperator, account.RoleAuditor} {
		b := s.as(role)
		b.open("/dashboard/approvals")
		b.holds(id)
		b.open("/dashboard/approvals/" + id)
		b.shows(200, "An administrator of your account can approve or abort it.")
		b.lacks("/approve", "/abort")
		before := s.events()
		for _, what := range []string{"approve", "abort"} {
			b.submit(fmt.Sprintf("/dashboard/approvals/%s/%s", id, what), "price", "€24.20")
			b.shows(403, "Your role does not allow this")
		}
		if n := s.events() - before; n != 0 {
			t.Errorf("the %s recorded %d events", role, n)
		}
	}
}

// TestListPaymentAttempts checks the list and the reading of attempts that wait, without tokens and
// sessions, and that the amount is the session's as it is now (D20).
func TestListPaymentAttempts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(manualSession)
	token := r.tokenize(client, goodCard)
	id := r.want(r.inBrowser(client, "POST", "/payment-attempts", payShown(token, 2420, "EUR")), 202, "").text1("currentAttempt", "id")
	one := r.want(r.manage("GET", "/payment-attempts/"+id, ""), 200, "")
	list := r.want(r.manage("GET", "/payment-attempts?limit=1", ""), 200, "")
	if one.text1("approvalStatus") != "REQUIRES_APPROVAL" || one.field("amount") != 2420.0 || !strings.Contains(list.text, one.text) || strings.Contains(list.text, token) {
		t.Errorf("%s in %s", one.text, list.text)
	}
	r.want(r.patch(client, `"amount":2500`), 200, "")
	if changed := r.want(r.manage("GET", "/payment-attempts/"+id, ""), 200, ""); changed.field("amount") != 2500.0 || changed.field("amountChanged") != true {
		t.Error(changed.text)
	}
	r.want(r.decide(id, "approve", ""), 409, "AmountChanged")
	r.want(r.decide(id, "abort", `{"reason":"r"}`), 200, "")
	if ended := r.want(r.manage("GET", "/payment-attempts/"+id, ""), 200, ""); ended.text1("approvalStatus") != "ABORTED" || ended.text1("reason") != "r" {
		t.Error(ended.text)
	}
	if list := r.want(r.manage("GET", "/payment-attempts", ""), 200, ""); list.text != `{"data":[]}` {
		t.Error(list.text)
	}
	r.want(r.manage("GET", "/payment-attempts/unknown", ""), 404, "EntityNotFound")
	r.want(r.manage("GET", "/payment-attempts?cursor=x", ""), 422, "RequestValidationError")
}
