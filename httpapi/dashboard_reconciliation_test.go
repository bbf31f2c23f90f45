package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore/eventstoretest"
)

// ended loads the page of a comparison until it has ended.
func (s *site) ended(at string) {
	s.t.Helper()
	for began := time.Now(); ; {
		if s.open(at); !strings.Contains(text(s.now.text), "Running") {
			return
		}
		if time.Since(began) > time.Minute {
			s.t.Fatal("the comparison does not end")
		}
	}
}

// TestReconciliationPages checks that a comparison is started, that its page shows the result and
// links each difference to its payment, that the list has it, and that auditors see it and start
// none (D14.16, D20).
func TestReconciliationPages(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	const at = "/dashboard/reconciliation"
	s.open(at)
	s.shows(200, "No comparison was made yet")
	paid := s.paid(goodCard, "")
	s.want(s.post(paid+"/capture", `{"amount":1000,"final":false}`), 200, "")
	before := s.events()
	s.submit(at, "processor", "ADYEN", "from", "x")
	s.shows(422, "Write the day as in 2026-03-14.")
	s.submit(at, "processor", "NONE")
	s.shows(422, "Some of the input is not accepted.")
	s.submit(at, "processor", "ADYEN", "from", "2026-03-02", "to", "2026-03-01")
	s.shows(422, "Must not be after to.")
	s.holds(`value="2026-03-02"`)
	s.submit(at, "processor", "ADYEN")
	s.ended(s.now.at)
	s.shows(200, "The books agree", "everything")
	s.act(paid, processor.Refund, 300)
	s.submit(at, "processor", "ADYEN", "from", "2026-01-01")
	one := s.now.at
	s.ended(one)
	s.shows(200, "1 difference", "Missing in the ledger", "€3.00", "since 1 Jan 2026")
	s.holds(`href="/dashboard` + paid + `"`)
	s.open(at)
	s.shows(200, "The books agree", "1 difference", "ADYEN")
	s.open(at + "/unknown")
	s.shows(404, "This node has no such comparison since its start.")
	auditor := s.as(account.RoleAuditor)
	auditor.open(one)
	auditor.shows(200, "1 difference")
	auditor.submit(at, "processor", "STRIPE")
	auditor.shows(403, "Your role does not allow this")
	if n := s.events() - before; n > 4 { // the refund, the new user, and two sign-ins
		t.Errorf("%d events", n)
	}
}
