package httpapi_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/eventstoretest"
)

// audit returns the entries of the audit log that a query selects, newest first.
func (r *rig) audit(query string) (all []map[string]any) {
	r.t.Helper()
	for _, e := range r.want(r.manage("GET", "/audit-log?"+query, ""), 200, "").field("data").([]any) {
		all = append(all, e.(map[string]any))
	}
	return all
}

// line shows an entry without its ids of event and request.
func line(e map[string]any) string {
	what := e["what"].(map[string]any)
	text := fmt.Sprint(e["action"], " by ", e["actorName"], " of ", what["kind"], " ", what["name"])
	if e["from"] != nil {
		text += " from " + e["from"].(string)
	}
	return text
}

func lines(entries []map[string]any) (all []string) {
	for _, e := range entries {
		all = append(all, line(e))
	}
	return all
}

// TestAuditLog checks that every change through the management is an entry with user or key,
// action, time and address. Names remain after a key or an endpoint is deleted. Merchants' calls
// are not in the log. Filters and pages select entries (D20).
func TestAuditLog(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	at := r.paid(goodCard, "")
	r.want(r.post(at+"/capture", `{"amount":10,"final":false}`), 200, "") // the merchant's
	made := r.want(r.manage("POST", "/api-keys", `{"name":"till","scopes":["account:read","account:write","transactions:refund"]}`), 200, "")
	till := made.text1("apiKey")
	r.want(r.with(till, "POST", at+"/refund", `{"amount":5}`), 200, "")
	endpoint := r.want(r.with(till, "POST", "/webhook-endpoints", `{"url":"https://shop.example/secret-part","description":"my shop"}`), 200, "").text1("id")
	r.want(r.manage("PATCH", "/webhook-endpoints/"+endpoint, `{"enabled":false}`), 200, "")
	r.want(r.manage("DELETE", "/webhook-endpoints/"+endpoint, ""), 200, "")
	r.want(r.manage("PATCH", "/processors/STRIPE", `{"enabled":false}`), 200, "")
	r.want(r.manage("PUT", "/routing", `{"rules":[],"default":["ADYEN"]}`), 200, "")
	r.want(r.manage("PATCH", "/settings", `{"displayName":"North"}`), 200, "")
	r.want(r.manage("PATCH", "/settings", `{"displayName":"North"}`), 200, "") // changes nothing
	r.want(r.manage("POST", "/signing-secret/rotate", ""), 200, "")
	flow := `{"name":"Cancel all","trigger":{"eventType":"PAYMENT.STATUS","status":"AUTHORIZED"},"condition":"false","actions":[{"type":"cancel","reason":"r"}]}`
	workflow := r.want(r.manage("POST", "/workflows", flow), 200, "").text1("id")
	r.want(r.manage("POST", "/workflows/"+workflow+"/disable", ""), 200, "")
	r.want(r.manage("DELETE", "/api-keys/"+made.text1("id"), ""), 200, "")
	r.want(r.manage("POST", "/customers/customer-7/erase", ""), 200, "")
	state, _ := r.views.Account(r.account.AccountID)
	_, err := r.service.ResetUserPassword(t.Context(), commands.Caller{Account: r.account.AccountID, Actor: "cli:credentials-reset", RequestID: "reset"}, state.Users[0])
	must(t, err)

	want := []string{
		"account.user_password_reset by <nil> of user admin",
		"person.erased by init of customer <nil> from 127.0.0.1",
		"account.api_key_revoked by init of api_key till from 127.0.0.1",
		"workflow.disabled by init of workflow Cancel all from 127.0.0.1",
		"workflow.created by init of workflow Cancel all from 127.0.0.1",
		"account.signing_secret_rotated by init of signing_secret <nil> from 127.0.0.1",
		"account.settings_changed by init of settings <nil> from 127.0.0.1",
		"account.routing_changed by init of routing <nil> from 127.0.0.1",
		"account.processor_changed by init of processor <nil> from 127.0.0.1",
		"account.endpoint_deleted by init of webhook_endpoint my shop from 127.0.0.1",
		"account.endpoint_changed by init of webhook_endpoint my shop from 127.0.0.1",
		"account.endpoint_created by till of webhook_endpoint my shop from 127.0.0.1",
		"payment.refund_requested by till of payment order-1 from 127.0.0.1",
		"account.api_key_created by init of api_key till from 127.0.0.1",
		"account.created by <nil> of account ",
	}
	all := r.audit("")
	got := lines(all)
	if len(got) == len(want) && strings.HasPrefix(got[len(got)-1], want[len(want)-1]) {
		got[len(got)-1] = want[len(want)-1] // the account's name
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if what := all[12]["what"].(map[string]any); "/payments/"+what["id"].(string) != at {
		t.Errorf("the refund is of %v", what)
	}
	for _, e := range all {
		if e["eventId"] == "" || e["requestId"] == "" {
			t.Errorf("%v has no ids", e)
		}
	}
	if text := fmt.Sprint(all); strings.Contains(text, "secret-part") || strings.Contains(text, "ada@example.com") || strings.Contains(text, "plsec_") {
		t.Errorf("an entry has a secret: %s", text)
	}

	var paged []string
	for query := "?limit=4"; ; {
		page := r.want(r.manage("GET", "/audit-log"+query, ""), 200, "")
		for _, e := range page.field("data").([]any) {
			paged = append(paged, e.(map[string]any)["eventId"].(string))
		}
		next := page.text1("nextCursor")
		if next == "" {
			break
		}
		query = "?limit=4&cursor=" + next
	}
	var ids []string
	for _, e := range all {
		ids = append(ids, e["eventId"].(string))
	}
	if !slices.Equal(paged, ids) {
		t.Errorf("by pages %q, at once %q", paged, ids)
	}
	byTill := r.audit("actor=api_key:" + made.text1("id"))
	if got := lines(byTill); !slices.Equal(got, want[11:13]) {
		t.Errorf("by till: %q", got)
	}
	if got := lines(r.audit("type=workflow.disabled,account.api_key_revoked&type=person.erased")); !slices.Equal(got, want[1:4]) {
		t.Errorf("by type: %q", got)
	}
	if got := lines(r.audit("type=account.endpoint_created,account.routing_changed&actor=" + url.QueryEscape("api_key:"+made.text1("id")))); !slices.Equal(got, want[11:12]) {
		t.Errorf("by type and actor: %q", got)
	}
	if got := lines(r.audit("subject=" + endpoint)); !slices.Equal(got, want[9:12]) {
		t.Errorf("by subject: %q", got)
	}
	if got := lines(r.audit("subject=" + endpoint + "&type=account.endpoint_changed")); !slices.Equal(got, want[10:11]) {
		t.Errorf("by subject and type: %q", got)
	}
	checkChanges(t, all)
	between := url.Values{"from": {all[9]["at"].(string)}, "to": {all[6]["at"].(string)}}
	if got := lines(r.audit(between.Encode())); !slices.Equal(got, want[6:10]) {
		t.Errorf("by time: %q", got)
	}
	for query, fault := range map[string]string{
		"type=account.made":       `QueryString $.type has an unknown event type`,
		"from=yesterday":          "QueryString $.from must be an RFC 3339 date, a + in it written as %2B",
		"cursor=x":                "QueryString $.cursor is not a cursor of this list",
		"from=2026-01-02&to=2026": "QueryString $.from must be an RFC 3339 date, a + in it written as %2B",
	} {
		if a := r.want(r.manage("GET", "/audit-log?"+query, ""), 422, "RequestValidationError"); !slices.Contains(a.faults(), fault) {
			t.Errorf("%s: %q", query, a.faults())
		}
	}
	other := r.want(r.with(r.otherMerchant(), "GET", "/audit-log", ""), 200, "")
	if entries := other.field("data").([]any); len(entries) != 1 {
		t.Errorf("another account sees %s", other.text)
	}
	r.want(r.with(r.keyWith("account:write"), "GET", "/audit-log", ""), 403, "MissingScope")
}

// checkChanges checks what entries of TestAuditLog changed.
func checkChanges(t *testing.T, all []map[string]any) {
	t.Helper()
	for i, change := range map[int]string{
		3: `[map[from:true path:$.enabled to:false]]`, 6: `[map[path:$.captureMode to:MANUAL] map[path:$.displayName to:North]]`, 8: `[map[from:true path:$.enabled to:false]]`,
		9:  `[map[from:my shop path:$.description] map[from:false path:$.enabled] map[from:<nil> path:$.eventTypes] map[from:https://shop.example/… (1) path:$.url]]`,
		10: `[map[from:true path:$.enabled to:false]]`, 12: `<nil>`, 0: `<nil>`, 5: `<nil>`,
	} {
		if got := fmt.Sprint(all[i]["changed"]); got != change {
			t.Errorf("%s changed %s, want %s", got, line(all[i]), change)
		}
	}
}

// TestAuditOfAUser checks that the audit log contains the operations of a dashboard user on a
// payment, also without an address.
func TestAuditOfAUser(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.paid(goodCard, "")
	state, _ := r.views.Account(r.account.AccountID)
	by := commands.Caller{Account: r.account.AccountID, Actor: "user:" + string(state.Users[0].ID), RequestID: "request", Origin: "2001:db8::1"}
	_, err := r.service.ChangeSettings(t.Context(), by, account.ChangeSettings{DisplayName: new("North")})
	must(t, err)
	by.Origin = ""
	_, err = r.service.Capture(t.Context(), by, domain.PaymentID(strings.TrimPrefix(at, "/payments/")), payment.Capture{Final: true})
	must(t, err)
	want := []string{"payment.capture_requested by admin of payment order-1", "account.settings_changed by admin of settings <nil> from 2001:db8::1"}
	if got := lines(r.audit("actor=user:" + string(state.Users[0].ID))); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	began := time.Now()
	if entries := r.audit("to=" + url.QueryEscape(began.Add(-time.Hour).Format(time.RFC3339))); len(entries) != 0 {
		t.Errorf("an hour ago: %v", entries)
	}
}

// TestAuditByName: a user's changes are found by the name or the e-mail address, in any case, also
// after the removal, also if the account's state no longer has the removed user, and of all users
// who had the address (D20).
func TestAuditByName(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	change := func(decide func(account.State, time.Time) (account.Event, error)) {
		t.Helper()
		meta, err := r.store.NewMeta("test", "request")
		must(t, err)
		_, err = eventstore.Execute(t.Context(), r.store, eventstore.Accounts, eventstore.Accounts.Key(r.account.AccountID, string(r.account.AccountID)), meta,
			func(s account.State) (account.Event, error) { return decide(s, meta.At) })
		must(t, err)
	}
	add := func(id domain.UserID, name string) {
		t.Helper()
		change(func(s account.State, at time.Time) (account.Event, error) {
			return account.DecideAddUser(s, account.AddUser{At: at, User: account.User{ID: id, Name: name, Role: account.RoleAdmin, Password: domain.SecretID("password." + id)}})
		})
	}
	remove := func(id domain.UserID) {
		t.Helper()
		change(func(s account.State, at time.Time) (account.Event, error) {
			return account.DecideRemoveUser(s, account.RemoveUser{At: at, User: id})
		})
	}
	names := 0
	acts := func(id domain.UserID) {
		t.Helper()
		names++
		name := fmt.Sprint("Shop ", names)
		by := commands.Caller{Account: r.account.AccountID, Actor: "user:" + string(id), RequestID: name}
		_, err := r.service.ChangeSettings(t.Context(), by, account.ChangeSettings{DisplayName: &name})
		must(t, err)
	}
	found := func(query string) (requests []string) {
		t.Helper()
		for _, e := range r.audit(query) {
			requests = append(requests, e["requestId"].(string))
		}
		return requests
	}
	state, _ := r.views.Account(r.account.AccountID)
	first := state.Users[0].ID
	add("ada-1", "ada@shop.example")
	add("ben", "ben@shop.example")
	acts("ada-1") // Shop 1
	acts("ben")
	acts(first)
	remove("ada-1")
	add("ada-2", "ada@shop.example")
	acts("ada-2") // Shop 4
	check := func() {
		t.Helper()
		for query, want := range map[string][]string{
			"user=ada@shop.example":                              {"Shop 4", "Shop 1"},
			"user=%20ADA@Shop.example&type=" + settingsChanged:   {"Shop 4", "Shop 1"},
			"user=ada@shop.example&type=account.api_key_created": nil,
			"user=ada@shop.example&actor=user:ada-1":             {"Shop 1"},
			"user=ada@shop.example&actor=user:ben":               nil,
			"user=ben@shop.example":                              {"Shop 2"},
			"user=Admin":                                         {"Shop 3"},
			"user=shop.example":                                  nil,
		} {
			if got := found(query); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
	}
	check()
	page := r.want(r.manage("GET", "/audit-log?user=ada@shop.example&limit=1", ""), 200, "")
	if rest := found("user=ada@shop.example&limit=1&cursor=" + page.text1("nextCursor")); !slices.Equal(rest, []string{"Shop 1"}) {
		t.Errorf("the second page has %q", rest)
	}
	r.want(r.manage("GET", "/audit-log?user=ben@shop.example&cursor="+page.text1("nextCursor"), ""), 422, "RequestValidationError")
	if a := r.want(r.manage("GET", "/audit-log?user=", ""), 422, "RequestValidationError"); !slices.Contains(a.faults(), "QueryString $.user must not be empty") {
		t.Error(a.text)
	}
	if other := r.want(r.with(r.otherMerchant(), "GET", "/audit-log?user=ada@shop.example", ""), 200, ""); len(other.field("data").([]any)) > 0 {
		t.Errorf("another account sees %s", other.text)
	}
	remove(first)
	for i := range account.MaxRemovedUsers {
		id := domain.UserID(fmt.Sprint("guest-", i))
		add(id, string(id)+"@shop.example")
		remove(id)
	}
	newest, _, err := r.views.AccountNow(t.Context(), r.account.AccountID)
	if must(t, err); newest.Removed("ada-1") || newest.Removed(first) {
		t.Fatal("the account's state still has the first removed users")
	}
	check()
}

// settingsChanged is the type of the events of TestAuditByName.
const settingsChanged = "account.settings_changed"

// TestAuditOfWebhooks: who sends webhooks again is recorded before they are sent; a refused
// request, a dry run and the service's own attempts are not in the audit log.
func TestAuditOfWebhooks(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	endpoint := r.endpoint(`{"url":"` + r.inbox.url + `/a","eventTypes":["PAYMENT.STATUS"]}`).text1("id")
	at := r.paid(goodCard, "")
	var delivery string
	r.rig.eventually(func() bool {
		sent := r.want(r.manage("GET", "/webhook-deliveries?outcome=SUCCEEDED", ""), 200, "").field("data").([]any)
		if len(sent) == 0 {
			return false
		}
		delivery = sent[0].(map[string]any)["id"].(string)
		return true
	})
	for range 2 { // the second is a repeat, which sends nothing
		r.want(r.do(request{
			method: "POST", path: "/management/webhook-deliveries/" + delivery + "/resend", header: map[string]string{"X-Api-Version": "", "X-Idempotency-Key": "once"},
		}), 200, "")
	}
	r.want(r.manage("POST", "/webhook-deliveries/unknown/resend", ""), 404, "EntityNotFound")
	r.want(r.manage("PATCH", "/webhook-endpoints/"+endpoint, `{"enabled":false}`), 200, "")
	r.want(r.manage("POST", "/webhook-deliveries/"+delivery+"/resend", ""), 422, "RequestValidationError")
	r.want(r.manage("PATCH", "/webhook-endpoints/"+endpoint, `{"enabled":true}`), 200, "")
	from, to := r.now().Add(-time.Hour).UTC().Format(time.RFC3339), r.now().UTC().Format(time.RFC3339)
	replay := `{"endpointId":"` + endpoint + `","from":"` + from + `","to":"` + to + `"`
	r.want(r.manage("POST", "/webhook-replays", replay+`,"dryRun":true}`), 200, "")
	id := r.want(r.manage("POST", "/webhook-replays", replay+`}`), 200, "").text1("id")
	r.want(r.manage("POST", "/webhook-replays", strings.Replace(replay, endpoint, "5d0f3c1e-2b6a-4f7d-9c8e-0a1b2c3d4e5f", 1)+`}`), 404, "EntityNotFound")
	entries := r.audit("type=webhook.resend_requested,webhook.replay_requested")
	want := []string{
		"webhook.replay_requested by init of webhook_replay <nil> from 127.0.0.1",
		"webhook.resend_requested by init of webhook_delivery PAYMENT.STATUS from 127.0.0.1",
	}
	if got := lines(entries); !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
	if entries[0]["what"].(map[string]any)["id"] != id || entries[1]["what"].(map[string]any)["id"] != delivery {
		t.Errorf("%v", entries)
	}
	place := accounts.ResendPlace(r.account.AccountID, delivery, "once")
	history, err := r.store.History(t.Context(), eventstore.Webhooks.Key(r.account.AccountID, place))
	must(t, err)
	e, err := eventstore.Webhooks.Event(history[0])
	must(t, err)
	if resend := e.(webhook.ResendRequested); "/payments/"+string(resend.Payment) != at || resend.Endpoint != domain.EndpointID(endpoint) {
		t.Errorf("%+v", resend)
	}
}
