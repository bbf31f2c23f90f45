package httpapi_test

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// holds fails the test if the source of the page does not contain one of the texts.
func (s *site) holds(texts ...string) {
	s.t.Helper()
	for _, want := range texts {
		if !strings.Contains(s.now.text, want) {
			s.t.Errorf("%s lacks %q: %s", s.now.at, want, s.now.text)
		}
	}
}

// TestHomeNamesFailingEndpoints checks that the start page names each endpoint whose webhooks fail,
// with a link, the time of the first failure and the reason. The page shows the oldest waiting
// webhook and the lag of its figures. It does not name an endpoint that works again or is disabled.
func TestHomeNamesFailingEndpoints(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, r := newHookSite(t)
	s.open("/dashboard")
	s.shows(200, "No endpoint is set up.", "These figures have every event of the log.")
	r.inbox.answer("/bad", status(500, ""))
	good, bad := r.takes("/good"), r.takes("/bad")
	r.sold(goodCard, someSession)
	r.settled("outcome=SUCCEEDED", 1)
	lost := r.settled("outcome=EXHAUSTED", 1)[0]["id"].(string)
	s.open("/dashboard")
	s.shows(200, "Webhooks fail", r.inbox.url+"/bad has accepted nothing since", "The receiver did not answer with a 2xx status.", "refused with HTTP 500")
	s.lacks("/good has accepted nothing since", "HTTP 500, Status")
	s.holds(`<a href="/dashboard/endpoints/`+bad+`">`, `<a href="/dashboard/deliveries/`+lost+`">`)
	r.want(r.manage("PATCH", "/webhook-endpoints/"+bad, `{"enabled":false}`), 200, "")
	s.open("/dashboard")
	s.lacks("Webhooks fail")
	r.want(r.manage("PATCH", "/webhook-endpoints/"+bad, `{"enabled":true}`), 200, "")
	s.open("/dashboard")
	s.shows(200, "Webhooks fail")
	r.inbox.answer("/bad", status(200, ""))
	r.late.Store(5)
	r.want(r.manage("POST", "/webhook-deliveries/"+lost+"/resend", ""), 200, "")
	s.open("/dashboard")
	s.lacks("Webhooks fail")
	gate := make(chan struct{})
	defer close(gate)
	r.inbox.answer("/bad", hanging(gate))
	r.late.Store(10)
	r.sold(goodCard, someSession)
	r.settled("outcome=SUCCEEDED&endpointId="+good, 2) // until then a webhook to this endpoint may be the oldest
	waits := r.settled("outcome=PLANNED&endpointId="+bad, 1)[0]["id"].(string)
	r.late.Store(100)
	s.open("/dashboard")
	s.shows(200, "The oldest waits since", "(1 minute)", "Requested in EUR", "also declined, failed and cancelled ones")
	s.holds(`<a href="/dashboard/deliveries/` + waits + `">`)
}

// TestTriesOnHome: each count of a processor's authorizations on the start page leads to the list
// of the payments that it counts, also those that a fallback brought to another processor.
func TestTriesOnHome(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, _ := newHookSite(t)
	fallen := s.want(s.pay(payWith(s.tokenize(s.session(someSession), "4000000000005266"))), 200, "").text1("id")
	approved := strings.TrimPrefix(s.paid(goodCard, ""), "/payments/")
	s.open("/dashboard")
	links := regexp.MustCompile(`href="(/dashboard/payments\?from=[^"]*tried=([A-Z]+)[^"]*result=([A-Z]+))">([0-9]+)</a>`).FindAllStringSubmatch(s.now.text, -1)
	if len(links) == 0 {
		t.Fatalf("no count leads to its payments: %s", s.now.text)
	}
	failed := false
	for _, link := range links {
		s.open(html.UnescapeString(link[1]))
		s.shows(200)
		listed := strings.Count(s.now.text, `class="id" href="/dashboard/payments/`)
		if strconv.Itoa(listed) != link[4] {
			t.Errorf("%s counts %s payments %s, the list has %d", link[2], link[4], link[3], listed)
		}
		failed = failed || link[3] == "FAILED" && strings.Contains(s.now.text, fallen)
	}
	if !failed {
		t.Error("the payment that another processor approved is not listed where it failed")
	}
	s.open("/dashboard/payments?result=FAILED&status=AUTHORIZED")
	s.shows(200)
	if s.holds(fallen); strings.Contains(s.now.text, approved) {
		t.Error("a payment without a failed try is listed")
	}
	s.open("/dashboard/payments?tried=BANK&result=MAYBE")
	s.shows(422, "There is no processor BANK.", "There is no result MAYBE.")
}

// TestSearchSaysItsLimits: a search with more results than it shows says so, and leads to the whole
// list. One without a result names the compared fields, and says that names are sealed.
func TestSearchSaysItsLimits(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	s.open("/dashboard/search")
	s.shows(200, "a customer's e-mail address", "Names cannot be searched: they are sealed")
	s.open("/dashboard/search?q=Ada+Lovelace")
	s.shows(200, "Nothing has the id “Ada Lovelace”", "compares whole ids and e-mail addresses, not parts of them", "Names cannot be searched: they are sealed")
	for n := range 21 {
		s.paid(goodCard, "")
		if n == 18 {
			s.open("/dashboard/search?q=order-1")
			s.shows(200, "Order")
			s.lacks("There may be more.")
		}
	}
	s.open("/dashboard/search?q=order-1")
	s.shows(200, "The search shows the first 20 results. There may be more. All payments of this order.")
	s.holds(`<a href="/dashboard/payments?order=order-1">`)
	s.open("/dashboard/payments?order=order-1")
	if n := strings.Count(s.now.text, `class="id" href="/dashboard/payments/`); n != 21 {
		t.Errorf("the list has %d payments", n)
	}
}

// TestHomeHasFurtherDisputes: the start page shows five open disputes, and says that there are
// others.
func TestHomeHasFurtherDisputes(t *testing.T) {
	t.Parallel()
	s, r := newHookSite(t)
	disputed(r.rig, 6)
	s.open("/dashboard")
	s.shows(200, "left, until", "There are further open disputes: show those with the nearest deadlines")
}
