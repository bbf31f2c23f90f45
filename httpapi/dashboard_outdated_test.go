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

// TestOutdatedRules: a form about routing rules that was opened before somebody else's change shows
// no preview and saves nothing, also after other faults of its input or a new sign-in. The refusal
// names the rules that a second sending replaces.
func TestOutdatedRules(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	route := func(body string) { s.want(s.manage("PUT", "/routing", body), 200, "") }
	const first, second = `{"name":"first","when":{"minAmount":1000},"processors":["STRIPE"]}`, `{"name":"second","when":{},"processors":["ADYEN"]}`
	for _, c := range []struct{ page, after, notice string }{
		{"/dashboard/routing/rules/1", `{"rules":[` + second + `]}`, "you replace the rule that has this place now: 1, “second”."},
		{"/dashboard/routing/rules/2", `{"rules":[` + first + `]}`, "you add your rule after the 1 that there are now."},
		{"/dashboard/routing/rules/new", `{"rules":[` + second + `]}`, "you add your rule after the 1 that there are now."},
		{"/dashboard/routing/default", `{"rules":[],"default":["ADYEN","STRIPE"]}`, "you replace the default list of now: ADYEN, STRIPE."},
	} {
		route(`{"rules":[` + first + `,` + second + `]}`)
		s.open(c.page)
		mark := s.value("mark")
		send := func(mark string, more ...string) {
			s.submit(c.page, append([]string{"mark", mark, "name", "mine", "processor1", "WORLDPAY"}, more...)...)
		}
		send(mark, "processor2", "WORLDPAY")
		s.shows(422, "WORLDPAY is there twice.")
		route(c.after)
		before := s.events()
		for _, more := range [][]string{{"do", "preview"}, {"processor2", "WORLDPAY"}, nil} {
			send(mark, more...)
			s.shows(409, "Nothing was done. The routing rules have changed since you opened this page.", c.notice)
			s.lacks("Your newest payments")
		}
		send(mark, "_review", "yes")
		s.shows(200)
		send(s.value("mark"))
		s.shows(409, c.notice)
		if n := s.events() - before; n != 0 {
			t.Errorf("%s: %d events of forms that are out of date", c.page, n)
		}
		send(s.value("mark"))
		s.shows(200, "The change is saved.")
	}
}

// TestMarkAfterOtherFaults: a form that comes back because of its input, or after a new sign-in,
// still belongs to what its first page showed: the page says that this has changed, or the next
// sending is refused. It does not undo somebody else's change.
func TestMarkAfterOtherFaults(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, r := newHookSite(t)
	user := "/users/" + r.want(r.manage("POST", "/users", `{"email":"olga@shop.example","role":"operator"}`), 200, "").text1("id")
	endpoint := "/webhook-endpoints/" + r.want(r.manage("POST", "/webhook-endpoints", `{"url":"`+r.inbox.url+`/a"}`), 200, "").text1("id")
	flow := "/workflows/" + r.want(r.manage("POST", "/workflows", halves), 200, "").text1("id")
	r.want(r.manage("POST", flow+"/disable", ""), 200, "")
	review := []string{"_review", "yes"}
	for _, c := range []struct {
		page, mark         string
		method, path, body string // of the other change
		input, fault       []string
		status             int // after the fault
		notice             string
	}{
		{"/dashboard/settings", "mark", "PATCH", "/settings", `{"displayName":"One"}`, []string{"captureMode", "AUTOMATIC"}, []string{"brandColor", "green"}, 422, "The settings have changed"},
		{"/dashboard/settings", "mark", "PATCH", "/settings", `{"displayName":"Two"}`, []string{"captureMode", "AUTOMATIC"}, review, 200, "The settings have changed"},
		{"/dashboard" + user, "mark", "PATCH", user, `{"role":"auditor"}`, []string{"change", "role", "role", "admin"}, review, 200, "role has changed"},
		{"/dashboard" + strings.Replace(endpoint, "webhook-", "", 1) + "/delete", "mark", "PATCH", endpoint, `{"description":"in use"}`, nil, review, 200, "The endpoint has changed"},
		{"/dashboard" + flow + "/enable", "version", "PUT", flow, strings.Replace(halves, "0.5", "1", 1), nil, review, 409, "The workflow has changed"},
		{"/dashboard/signing-secret/rotate", "replaces", "POST", "/signing-secret/rotate", "", nil, review, 422, "The secret was rotated after this form was opened"},
	} {
		s.open(c.page)
		input := append([]string{c.mark, s.value(c.mark)}, c.input...)
		r.want(r.manage(c.method, c.path, c.body), 200, "")
		before := s.events()
		s.submit(c.page, append(input[:len(input):len(input)], c.fault...)...)
		s.shows(c.status)
		if !strings.Contains(text(s.now.text), c.notice) {
			input[1] = s.value(c.mark)
			s.submit(c.page, input...)
			s.shows(409, c.notice)
		}
		if n := s.events() - before; n != 0 {
			t.Errorf("%s: %d events", c.page, n)
		}
	}
}
