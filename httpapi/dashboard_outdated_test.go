package httpapi_test

import (
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// outdated is a form whose page shows something that somebody else changes before it is sent.
type outdated struct {
	page   string   // of the form
	mark   string   // the hidden field that identifies the state that the page showed
	method string   // of the other change
	path   string   // below /management
	body   string   // "": none
	input  []string // what the person sends
	kept   string   // of the input in the page of the refusal
	shows  []string // by the page of the refusal: what applies now
	saved  string   // at the second sending
}

// TestOutdatedForms: a form that was opened before somebody else's change does not undo it: the
// page shows the present settings, and keeps the input. Sent again from there, the form has its
// effect; a repeat has none.
func TestOutdatedForms(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, r := newHookSite(t)
	endpoint := "/webhook-endpoints/" + r.want(r.manage("POST", "/webhook-endpoints", `{"url":"`+r.inbox.url+`/a","description":"old"}`), 200, "").text1("id")
	other := "/webhook-endpoints/" + r.want(r.manage("POST", "/webhook-endpoints", `{"url":"`+r.inbox.url+`/b"}`), 200, "").text1("id")
	flow := "/workflows/" + r.want(r.manage("POST", "/workflows", halves), 200, "").text1("id")
	r.want(r.manage("POST", flow+"/disable", ""), 200, "")
	user := "/users/" + r.want(r.manage("POST", "/users", `{"email":"olga@shop.example","role":"operator"}`), 200, "").text1("id")
	page := func(path string) string { return "/dashboard" + strings.Replace(path, "webhook-", "", 1) }
	for _, o := range []outdated{
		{
			page: "/dashboard/processors/STRIPE", mark: "mark", method: "PATCH", path: "/processors/STRIPE", body: `{"enabled":false}`,
			input: []string{"processorMerchantId", "shop-2", "enabled", "yes"}, kept: `value="shop-2"`,
			shows: []string{"The processor has changed since you opened this page.", "New payments do not go to it"}, saved: "shop-2",
		},
		{
			page: page(endpoint) + "/edit", mark: "mark", method: "PATCH", path: endpoint, body: `{"enabled":false,"eventTypes":["DISPUTE.OPENED"]}`,
			input: []string{"url", r.inbox.url + "/a", "which", "all", "description", "new", "enabled", "yes"}, kept: `value="new"`,
			shows: []string{"The endpoint has changed since you opened this page.", "Event types DISPUTE.OPENED", "State disabled"}, saved: "new",
		},
		{
			page: page(flow) + "/enable", mark: "version", method: "PUT", path: flow, body: strings.Replace(halves, "halves", "all of it", 1),
			shows: []string{"The workflow has changed since you opened this page: it has version 2 now."}, saved: "It is enabled.",
		},
		{
			page: page(user), mark: "mark", method: "PATCH", path: user, body: `{"role":"auditor"}`,
			input: []string{"change", "role", "role", "admin"}, kept: `value="admin" checked`,
			shows: []string{"role has changed since you opened this page.", "role is auditor."}, saved: "role is admin.",
		},
		{
			page: page(other) + "/delete", mark: "mark", method: "PATCH", path: other, body: `{"description":"in use"}`,
			shows: []string{"The endpoint has changed since you opened this page.", "in use"}, saved: "It is deleted.",
		},
	} {
		s.open(o.page)
		mark := s.value(o.mark)
		r.want(r.manage(o.method, o.path, o.body), 200, "")
		before := s.events()
		s.submit(o.page, append(o.input, o.mark, mark)...)
		s.shows(409, append(o.shows, "Nothing was done.")...)
		if n := s.events() - before; n != 0 || !strings.Contains(s.now.text, o.kept) {
			t.Errorf("%s: %d events; the input is kept: %t", o.page, n, strings.Contains(s.now.text, o.kept))
		}
		mark = s.value(o.mark)
		for range 2 {
			s.submit(o.page, append(o.input, o.mark, mark)...)
			s.shows(200, o.saved)
		}
		if n := s.events() - before; n != 1 {
			t.Errorf("%s: %d events of the form that was sent twice", o.page, n)
		}
	}
}
