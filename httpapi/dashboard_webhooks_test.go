package httpapi_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/commands/users"
	"payledger/eventstore/eventstoretest"
	"payledger/httpapi"
	"payledger/httpapi/dashboard/frame"
	"payledger/notifier"
	"payledger/projections/deliveries"
	"payledger/projections/history"
)

// newHookSite starts a rig that sends webhooks and has a dashboard, with a browser of the first
// user.
func newHookSite(t *testing.T) (*site, *hookRig) {
	t.Helper()
	hooks := &webhooks{}
	box := newInbox(t)
	r := &hookRig{newRigWith(t, usualTimeout, hooks), box}
	staff, err := users.New(users.Config{
		Accounts: r.service.Accounts, Root: tokenKey, Directory: r.views.Accounts, Newest: r.views.AccountNow,
	})
	must(t, err)
	r.serve(func(c *httpapi.Config) {
		c.Users = staff
		c.History.(*history.Reader).Deliveries = notifier.NewDeliveryReader(r.store)
		c.TestEndpoint = func(ctx context.Context, owner domain.AccountID, id domain.EndpointID) (deliveries.Attempt, error) {
			a, err := hooks.notifier.SendTest(ctx, owner, id)
			return deliveries.Attempt{StartedAt: a.StartedAt, StatusCode: a.StatusCode, Failure: string(a.Failure), Excerpt: a.Excerpt}, err
		}
	})
	s := r.browserOf()
	s.signInAs(r.account.DashboardUser, r.account.DashboardPassword)
	return s, r
}

// lacks fails the test if the page shows a text.
func (s *site) lacks(texts ...string) {
	s.t.Helper()
	for _, unwanted := range texts {
		if strings.Contains(s.now.text, unwanted) {
			s.t.Errorf("%s shows %q", s.now.at, unwanted)
		}
	}
}

// TestEndpointPages: endpoints are made, changed, tested and deleted from the dashboard. A repeat
// of a form does nothing more.
func TestEndpointPages(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, r := newHookSite(t)
	const list = "/dashboard/endpoints"
	s.open(list)
	s.shows(200, "There is no webhook endpoint", "Make an endpoint")
	s.submit(list+"/new", "url", "", "which", "some", "description", "kept")
	s.shows(422, "Nothing was done.", "Write the address of your receiver", "Choose one event type or more")
	if s.value("description") != "kept" {
		t.Error("the input is lost")
	}
	s.submit(list+"/new", "url", "https://10.0.0.1/", "which", "all")
	s.shows(422, "Must not lead to a private address.")
	address := r.inbox.url + "/bad"
	fields := []string{"url", address, "which", "some", "eventTypes", "PAYMENT.STATUS", "description", hostileText}
	s.submit(list+"/new", fields...)
	s.shows(200, "The endpoint is made.", "No webhook yet", address, "PAYMENT.STATUS", hostileText)
	s.lacks(hostileText)
	one, _, _ := strings.Cut(s.now.at, "?")
	s.submit(list+"/new", fields...)
	s.shows(422, "An endpoint with this URL exists.", "it gets each webhook twice")
	s.submit(list+"/new", append(fields, "again", "yes")...)
	s.shows(200, "The endpoint is made.")
	second, _, _ := strings.Cut(s.now.at, "?")

	r.inbox.answer("/bad", status(500, "the <b>database</b> is down"))
	s.open(one + "/test")
	s.submit(one + "/test")
	s.shows(200, "The test failed", "HTTP 500", "the <b>database</b> is down", "Redirects count as failures")
	r.inbox.answer("/bad", status(204, ""))
	s.submit(one + "/test")
	s.shows(200, "Your receiver took the test", "HTTP 204")

	s.open(one + "/edit")
	s.shows(200, "Change a webhook endpoint")
	if s.value("url") != address {
		t.Errorf("the form has the URL %s", s.value("url"))
	}
	mark := s.value("mark")
	s.submit(one+"/edit", "mark", mark, "url", "https://10.0.0.1/", "which", "all")
	s.shows(422, "Nothing was done.")
	s.submit(one+"/edit", "mark", mark, "url", address+"2", "which", "all", "description", "Shop")
	s.shows(200, "The change is saved.", "Disabled", "All, also future ones", address+"2")
	before := s.events()
	s.open(second + "/delete")
	s.shows(200, "This cannot be undone.")
	if s.events() != before {
		t.Error("a GET recorded an event")
	}
	mark = s.value("mark")
	for range 2 {
		s.submit(second+"/delete", "mark", mark)
		s.shows(200, "It is deleted.")
	}
	if n := s.events() - before; n != 1 {
		t.Errorf("%d events of two deletions", n)
	}
	s.open(second)
	s.shows(404, "Your account has no webhook endpoint with this id.")
}

// TestEndpointHealth: the list and the page of an endpoint show its health, which follows from its
// deliveries.
func TestEndpointHealth(t *testing.T) {
	t.Parallel()
	s, r := newHookSite(t)
	r.inbox.answer("/bad", status(503, ""))
	good, bad := r.takes("/good"), r.takes("/bad")
	r.sold(goodCard, someSession)
	r.settled("outcome=SUCCEEDED", 1)
	r.settled("outcome=EXHAUSTED", 1)
	s.open("/dashboard/endpoints")
	s.shows(200, "Healthy", "Failing The receiver did not answer with a 2xx status.")
	s.open("/dashboard/endpoints/" + good)
	s.shows(200, "Healthy", "Exhausted in 7 days None")
	s.open("/dashboard/endpoints/" + bad)
	s.shows(200, "Failing", "Last success None yet", "Exhausted in 7 days 1")
	r.inbox.answer("/bad", status(200, ""))
	r.late.Store(5)
	lost := r.settled("outcome=EXHAUSTED", 1)[0]["id"].(string)
	r.want(r.manage("POST", "/webhook-deliveries/"+lost+"/resend", ""), 200, "")
	s.open("/dashboard/endpoints/" + bad)
	s.shows(200, "Healthy", "Exhausted in 7 days None")
	gate := make(chan struct{})
	defer close(gate)
	r.inbox.answer("/bad", hanging(gate))
	r.late.Store(10)
	r.sold(goodCard, someSession)
	r.settled("outcome=PLANNED&endpointId="+bad, 1)
	r.late.Store(100)
	s.open("/dashboard/endpoints/" + bad)
	s.shows(200, "Late", "Waiting 1", "Oldest waiting 1 minute")
}

// TestDeliveryScreens: the list finds deliveries by its filters; a delivery shows its attempts and
// body, and is resent once per form.
func TestDeliveryScreens(t *testing.T) {
	t.Parallel()
	s, r := newHookSite(t)
	const list = "/dashboard/deliveries"
	s.open(list)
	s.shows(200, "There is no webhook endpoint")
	endpoint := r.takes("/")
	s.open(list)
	s.shows(200, "No webhook was sent yet")
	r.inbox.answer("/", status(500, hostileText))
	payment := r.sold(goodCard, someSession)
	id := r.settled("outcome=EXHAUSTED", 1)[0]["id"].(string)
	for query, found := range map[string]bool{
		"": true, "?outcome=EXHAUSTED&outcome=PLANNED": true, "?outcome=SUCCEEDED": false, "?eventType=PAYMENT.STATUS": true,
		"?eventType=PAYMENT.REFUND": false, "?endpointId=" + endpoint: true, "?endpointId=other": false, "?paymentId=" + payment: true,
		"?paymentId=other": false, "?everFailed=true": true, "?everFailed=&endpointId=": true, "?from=2020-01-01&to=2099-01-01T10:00": true, "?to=2020-01-01": false, "?from=2099-01-01T00:00": false,
	} {
		s.open(list + query)
		s.shows(200)
		if got := strings.Contains(s.now.text, list+"/"+id); got != found {
			t.Errorf("%s: found %t", query, got)
		}
	}
	s.open(list + "?from=yesterday&outcome=EXHAUSTED")
	s.shows(422, "Write the time as in 2026-03-14T09:30, in UTC.")
	s.open(list + "?outcome=" + "LOST")
	s.shows(422)
	s.open(list + "/" + id)
	s.shows(200, "Exhausted", "HTTP 500", "All automatic attempts failed.", hostileText, "X-Signature-Primary", "ada@example.com", "with signing secret 1")
	s.lacks(hostileText, "plsec_"+r.account.SigningSecret[6:])
	s.open(list + "/" + id + "/resend")
	s.shows(200, "One attempt is made now.", "PAYMENT.STATUS with the status Authorized", payment)
	key := s.value("key")
	for range 2 {
		s.submit(list+"/"+id+"/resend", "key", key)
		s.shows(200, "The webhook was sent again, and the attempt failed.", "Attempt 2: HTTP 500", "requested by a person")
		s.banner("bad")
	}
	r.inbox.answer("/", status(200, ""))
	s.submit(list+"/"+id+"/resend", "key", key+"-other")
	s.shows(200, "The webhook was sent again.", "Attempt 3: HTTP 200", "Succeeded")
	s.banner("good")
	s.submit(list+"/"+id+"/resend", "key", key+"-late", "seen", "EXHAUSTED")
	s.shows(409, "The receiver has accepted the webhook since you opened this page.", "Attempts so far 3")
	r.sold(goodCard, someSession)
	fresh := r.settled("outcome=SUCCEEDED", 2)[0]["id"].(string) // at the first attempt
	s.open(list + "?everFailed=true")
	s.shows(200, "Failed at least once")
	if s.lacks(fresh); !strings.Contains(s.now.text, list+"/"+id) {
		t.Error("a webhook whose third attempt succeeded is not among those that failed")
	}
	if n := len(r.inbox.at("/")); n != 4 {
		t.Errorf("%d webhooks came", n)
	}
	r.want(r.manage("PATCH", "/webhook-endpoints/"+endpoint, `{"enabled":false}`), 200, "")
	s.submit(list+"/"+id+"/resend", "key", "third")
	s.shows(422, "webhook endpoint is disabled.")
	r.want(r.manage("DELETE", "/webhook-endpoints/"+endpoint, ""), 200, "")
	s.open(list + "/" + id)
	s.shows(200, "The endpoint is deleted, so nothing would be sent.", "deleted")
	s.open(list + "/nothing")
	s.shows(404, "Your account has no webhook delivery with this id.")
}

// TestWithheldAnswerScreen: an answer that is not kept is not shown as an answer. The page says
// why.
func TestWithheldAnswerScreen(t *testing.T) {
	t.Parallel()
	s, r := newHookSite(t)
	r.inbox.answer("/", status(200, "thanks, ada@example.com"))
	r.takes("/")
	r.sold(goodCard, someSession)
	id := r.settled("outcome=SUCCEEDED", 1)[0]["id"].(string)
	s.open("/dashboard/deliveries/" + id)
	s.shows(200, "Attempt 1: HTTP 200", "The answer is not kept:")
	s.lacks("thanks", "(withheld", "The beginning of the answer")
}

// TestTimelineNamesEndpoints: a payment's page names the endpoint of each webhook and leads to its
// page, also where the webhook was accepted.
func TestTimelineNamesEndpoints(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, r := newHookSite(t)
	r.inbox.answer("/bad", status(503, ""))
	plain, failing := r.takes("/good"), r.takes("/bad")
	described := r.endpoint(`{"url":"` + r.inbox.url + `/shop","description":"<i>Shop</i> of the North"}`).text1("id")
	gone := r.takes("/gone")
	payment := r.sold(goodCard, someSession)
	r.settled("outcome=SUCCEEDED", 3)
	r.settled("outcome=EXHAUSTED", 1)
	r.want(r.manage("DELETE", "/webhook-endpoints/"+gone, ""), 200, "")
	s.open("/dashboard/payments/" + payment)
	const kind = "PAYMENT.STATUS with the status Authorized"
	s.shows(200, kind+" to <i>Shop</i> of the North : Succeeded", kind+" to "+r.inbox.url+"/good : Succeeded", kind+" to "+r.inbox.url+"/bad : Exhausted",
		kind+" to a deleted endpoint ( "+gone+" ): Succeeded", "accepted by <i>Shop</i> of the North", "accepted by a deleted endpoint")
	s.lacks("<i>Shop", "/dashboard/endpoints/"+gone, "no endpoint was subscribed")
	for _, id := range []string{plain, failing, described} {
		s.open("/dashboard/payments/" + payment)
		if !strings.Contains(s.now.text, `href="/dashboard/endpoints/`+id+`"`) {
			t.Errorf("no link to %s", id)
		}
		s.open("/dashboard/endpoints/" + id)
		s.shows(200)
	}
}

// TestTimelineNamesMissingWebhooks: an event whose webhook no endpoint was subscribed to says so,
// on the timeline and in the API.
func TestTimelineNamesMissingWebhooks(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, r := newHookSite(t)
	early := r.sold(goodCard, someSession)
	r.endpoint(`{"url":"` + r.inbox.url + `/shop","eventTypes":["PAYMENT.STATUS"]}`)
	payment := r.sold(goodCard, someSession)
	r.want(r.post("/payments/"+payment+"/capture", ""), 200, "")
	r.want(r.post("/payments/"+payment+"/refund", `{"amount":420}`), 200, "")
	r.settled("outcome=SUCCEEDED&eventType=PAYMENT.STATUS", 2)
	s.open("/dashboard/payments/" + payment)
	s.shows(200, "Webhook PAYMENT.REFUND: no endpoint was subscribed to it then")
	s.lacks("with the status Settled: no")
	s.open("/dashboard/deliveries?from=" + url.QueryEscape(frame.When(r.now().Add(-time.Hour))) + "&to=" + url.QueryEscape(frame.When(r.now())))
	s.shows(200, "PAYMENT.STATUS Settled")
	s.open("/dashboard/payments/" + early)
	s.shows(200, "Webhook PAYMENT.STATUS with the status Authorized: no endpoint was subscribed to it then")
	for id, want := range map[string]string{early: `"noEndpoint":["PAYMENT.STATUS"]`, payment: `"noEndpoint":["PAYMENT.REFUND"]`} {
		if a := r.want(r.get("/payments/"+id+"/events?expand=webhooks"), 200, ""); strings.Count(a.text, "noEndpoint") != 1 || !strings.Contains(a.text, want) {
			t.Errorf("%s", a.text)
		}
	}
}

// TestStatusOfDelivery: two webhooks of one payment in one second have the status that each
// carries, in the list, on their pages and on the timeline.
func TestStatusOfDelivery(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, r := newHookSite(t)
	r.takes("/")
	payment := r.sold(goodCard, someSession)
	r.want(r.post("/payments/"+payment+"/capture", ""), 200, "")
	r.settled("outcome=SUCCEEDED&eventType=PAYMENT.STATUS", 2)
	s.open("/dashboard/deliveries?eventType=PAYMENT.STATUS")
	s.shows(200, "PAYMENT.STATUS Settled", "PAYMENT.STATUS Authorized")
	rows := regexp.MustCompile(`data-opens="(/dashboard/deliveries/[^"]*)"`).FindAllStringSubmatch(s.now.text, -1)
	for i, status := range []string{"Settled", "Authorized"} {
		s.open(rows[i][1])
		s.shows(200, "PAYMENT.STATUS with the status "+status)
		s.open(rows[i][1] + "/resend")
		s.shows(200, "PAYMENT.STATUS with the status "+status)
	}
	s.open("/dashboard/payments/" + payment)
	s.shows(200, "Webhook PAYMENT.STATUS with the status Settled to", "Webhook PAYMENT.STATUS with the status Authorized to")
	s.open("/dashboard/signing-secret/rotate")
	s.shows(200, "Refused webhooks are not lost: they are tried again, and you can resend them .")
}

// TestDeliveryListScreen: a list that is longer than a page is read by its cursor, with the
// filters.
func TestDeliveryListScreen(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, r := newHookSite(t)
	r.takes("/")
	const n = 55
	for range n {
		r.sold(goodCard, someSession)
	}
	r.settled("outcome=SUCCEEDED&limit=100", n)
	link := regexp.MustCompile(`href="([^"]*cursor=[^"]*)" rel="next"`)
	row := regexp.MustCompile(`href="/dashboard/deliveries/([a-z0-9]+)"`)
	seen := map[string]bool{}
	s.open("/dashboard/deliveries?outcome=SUCCEEDED&from=2020-01-01T10:11:12Z&to=2099-01-01")
	for pages := 1; ; pages++ {
		for _, found := range row.FindAllStringSubmatch(s.now.text, -1) {
			seen[found[1]] = true
		}
		next := link.FindStringSubmatch(s.now.text)
		if next == nil {
			if pages != 2 {
				t.Errorf("%d pages", pages)
			}
			break
		}
		s.open(html.UnescapeString(next[1]))
		s.shows(200, "Newest deliveries")
	}
	if len(seen) != n {
		t.Errorf("%d deliveries are listed", len(seen))
	}
	s.open("/dashboard/deliveries?status=NOPE")
	s.shows(422, "This list has no filter “status”.", "outcome, eventType")
	s.lacks("Nothing was done.")
	s.open("/dashboard/deliveries?outcome=NOPE")
	s.shows(422)
}

// TestReplayPages: the number is shown before anything is sent, the confirmed replay runs once, and
// its page shows the progress.
func TestReplayPages(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, r := newHookSite(t)
	r.sold(goodCard, someSession)
	r.sold(declinedCard, someSession)
	endpoint := r.takes("/late")
	const form = "/dashboard/replays/new"
	s.open(form + "?endpointId=" + endpoint)
	s.shows(200, "Replay webhooks", "First you see how many there are.")
	key := s.value("key")
	s.submit(form, "key", key, "endpointId", "", "from", "", "to", "tomorrow")
	s.shows(422, "Choose the endpoint", "Write the time as in")
	s.submit(form, "key", key, "endpointId", endpoint, "from", "2030-01-02T00:00", "to", "2030-01-01T00:00")
	s.shows(422, "Must not be after to.")
	s.submit(form, "key", key, "endpointId", endpoint, "from", "2020-01-01T00:00", "to", "2099-01-01T00:00", "onlyFailed", "yes")
	s.shows(200, "There is nothing to send", "take all instead of the failed ones")
	period := []string{"key", key, "endpointId", endpoint, "from", "2020-01-01T00:00", "to", "2099-01-01T00:00"}
	s.submit(form, period...)
	s.shows(200, "Send 2 webhooks?", "Nothing was sent yet.", "A replay cannot be stopped")
	if n := len(r.inbox.at("/late")); n != 0 {
		t.Errorf("%d webhooks came before the confirmation", n)
	}
	if s.value("step") != "send" || s.value("key") != key {
		t.Error("the confirmation lost its step or key")
	}
	confirmation := s.now.at
	s.open(confirmation) // by the browser's way back
	s.shows(200, "Send 2 webhooks?")
	if s.value("key") != key || s.value("from") != "2020-01-01T00:00" || s.value("to") != "2099-01-01T00:00" {
		t.Errorf("%s lost its input", confirmation)
	}
	s.submit(form, append(period, "step", "send")...)
	s.shows(200, "Replay of webhooks", "of 2")
	s.lacks("The replay has started.")
	at, _, _ := strings.Cut(s.now.at, "?")
	s.submit(form, append(period, "step", "send")...)
	if again, _, _ := strings.Cut(s.now.at, "?"); again != at {
		t.Errorf("a repeat leads to %s, first to %s", again, at)
	}
	r.until("/management/webhook-replays/"+strings.TrimPrefix(at, "/dashboard/replays/"), "state", "DONE")
	s.open(at)
	s.shows(200, "Done 2 of 2", "All were sent, or needed no sending any more.")
	if n := len(r.arrived("/late", 2)); n != 2 {
		t.Errorf("%d webhooks came", n)
	}
	s.submit(form, append(period, "step", "send", "onlyFailed", "yes")...)
	s.shows(422, "Another replay was started with this X-Idempotency-Key")
	s.open("/dashboard/replays/nothing")
	s.shows(404, "Your account has no replay with this id.")
}

// TestSigningPages: a rotation shows the new secret once. A repeat of its form rotates nothing: it
// would end the overlap.
func TestSigningPages(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, r := newHookSite(t)
	const page = "/dashboard/signing-secret"
	s.open(page)
	s.shows(200, "Ends in "+r.account.SigningSecret[len(r.account.SigningSecret)-4:], "Name in deliveries signing secret 1", "Let it check both headers before you rotate.", "How to verify a webhook")
	s.lacks(r.account.SigningSecret, "Previous secret")
	s.open(page + "/rotate")
	s.shows(200, "A rotation cannot be undone.", "stays valid for 24 hours", "checks only X-Signature-Primary refuses every webhook", "signing secret 1, which ends in")
	s.lacks("The last rotation is less than 24 hours ago.")
	replaces := s.value("replaces")
	before := s.events()
	s.submit(page+"/rotate", "replaces", replaces)
	s.shows(200, "It is shown this once.", "The previous secret signs for another 24 h 00 min")
	made := regexp.MustCompile(`plsec_[0-9A-Za-z]{20,}`).FindString(s.now.text)
	if made == "" || made == r.account.SigningSecret {
		t.Fatalf("shows the secret %q", made)
	}
	s.submit(page+"/rotate", "replaces", replaces)
	s.shows(422, "Nothing was done.", "The secret was rotated after this form was opened", "Rotate again only if nobody has copied it.")
	s.lacks(made)
	if n := s.events() - before; n != 1 {
		t.Errorf("%d events of one rotation", n)
	}
	r.late.Store(90 * 60)
	s.signInAs(r.account.DashboardUser, r.account.DashboardPassword)
	s.open(page)
	s.shows(200, "The previous secret signs for another 22 h 30 min", "Ends in "+made[len(made)-4:]+" Name in deliveries signing secret 2")
	s.lacks(made)
	s.open(page + "/rotate")
	s.shows(200, "The last rotation is less than 24 hours ago.", "it ends at once")
	s.submit(page+"/rotate", "replaces", s.value("replaces"))
	s.shows(200, "Webhooks are no longer signed with the secret that ends in")
	if strings.Contains(r.log.String(), made) {
		t.Error("the log has the secret")
	}
	r.late.Store(90*60 + int64(25*time.Hour/time.Second))
	s.signInAs(r.account.DashboardUser, r.account.DashboardPassword)
	s.open(page)
	s.lacks("The previous secret signs")
}

// TestWebhookPageRoles: an auditor reads all pages, sees no button, and is refused every change. An
// operator tests, resends and replays, and is refused the configuration (D20).
func TestWebhookPageRoles(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, r := newHookSite(t)
	endpoint := r.takes("/")
	r.sold(goodCard, someSession)
	delivery := r.settled("outcome=SUCCEEDED", 1)[0]["id"].(string)
	s.open("/dashboard/signing-secret/rotate")
	replaces := s.value("replaces")
	period := []string{"endpointId", endpoint, "from", "2020-01-01T00:00", "to", "2099-01-01T00:00"}
	configuration := map[string][]string{
		"/dashboard/endpoints/new":                     {"url", "https://shop.example/", "which", "all"},
		"/dashboard/endpoints/" + endpoint + "/edit":   {"url", "https://shop.example/", "which", "all"},
		"/dashboard/endpoints/" + endpoint + "/delete": nil,
		"/dashboard/signing-secret/rotate":             {"replaces", replaces},
	}
	operations := map[string][]string{
		"/dashboard/endpoints/" + endpoint + "/test":    nil,
		"/dashboard/deliveries/" + delivery + "/resend": {"key", "a"},
		"/dashboard/replays/new":                        append(period, "key", "b", "step", "send"),
	}
	recorded := map[account.Role][]string{account.RoleOperator: {"webhook.resend_requested", "webhook.replay_requested"}}
	pages := []string{"/dashboard/endpoints", "/dashboard/endpoints/" + endpoint, "/dashboard/deliveries", "/dashboard/deliveries/" + delivery, "/dashboard/signing-secret"}
	for _, role := range []account.Role{account.RoleAuditor, account.RoleOperator} {
		u := s.as(role)
		before, came := s.events(), len(r.inbox.at("/"))
		var links []string
		for _, page := range pages {
			u.open(page)
			u.shows(200)
			links = append(links, regexp.MustCompile(`href="/dashboard/[^"]*/(new|edit|delete|rotate|test|resend)[?"]`).FindAllString(u.now.text, -1)...)
			u.lacks(">Delete<", ">Rotate<", ">Change<", "New endpoint")
		}
		if (role == account.RoleAuditor) != (len(links) == 0) {
			t.Errorf("%s sees %v", role, links)
		}
		forbidden := configuration
		for at, fields := range forbidden {
			u.open(at)
			u.shows(403, "Your role does not allow this")
			u.submit(at, fields...)
			u.shows(403, fmt.Sprintf("The role %s does not allow this.", role))
		}
		for at, fields := range operations {
			u.submit(at, fields...)
			if role == account.RoleAuditor {
				u.shows(403, "Your role does not allow this")
				u.open(at)
				u.shows(403)
			} else {
				u.shows(200)
			}
		}
		if n, want := s.events()-before, uint64(len(recorded[role])); n != want { // for the audit log
			t.Errorf("%s: %d events were recorded, expected %q", role, n, recorded[role])
		}
		if n := len(r.inbox.at("/")); role == account.RoleAuditor && n != came {
			t.Errorf("%d webhooks were sent for an auditor", n-came)
		}
	}
	u := s.browserOf()
	for at, fields := range configuration {
		u.submit(at, fields...)
		u.shows(http.StatusUnauthorized)
	}
}

// TestListenerDeliveryScreen: the page of a delivery to a listener explains the headers that a
// listener's reader gets (D18).
func TestListenerDeliveryScreen(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, r := newHookSite(t)
	by := commands.Caller{Account: r.account.AccountID, Actor: "test", RequestID: "request"}
	_, err := r.service.CreateEndpoint(t.Context(), by, accounts.EndpointInput{URL: account.ListenerURL})
	must(t, err)
	r.sold(goodCard, someSession)
	id := r.settled("outcome=EXHAUSTED", 1)[0]["id"].(string)
	const previous = "It is there only for 24 hours after a rotation."
	s.open("/dashboard/deliveries/" + id)
	s.shows(200, "X-Signature-Listener The same with the secret that payledger listen prints.", "For 24 hours after a rotation: the same with the previous secret. Otherwise: with the secret that")
	s.lacks(previous)
	r.takes("/")
	r.sold(goodCard, someSession)
	s.open("/dashboard/deliveries/" + r.settled("outcome=SUCCEEDED", 1)[0]["id"].(string))
	s.shows(200, previous, "Signed in X-Signature-Primary with signing secret 1")
	s.lacks("X-Signature-Listener")
}
