package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"payledger/domain/account"
	"payledger/eventstore/eventstoretest"
)

// draft is the editor's input for a workflow that captures half of the authorized amount.
func draft(more ...string) []string {
	return append([]string{
		"name", "Halves " + hostileText, "trigger", "PAYMENT.STATUS AUTHORIZED", "condition", "payment.amount > 100", "delaySeconds", "0", "unit", "minutes",
		"actions[0].type", "capture", "actions[0].share", "50", "actions[0].final", "no",
	}, more...)
}

// TestWorkflowEditor checks that a condition is checked without saving, that the simulation comes
// before saving and has no effect, and that a repeated click creates no second workflow.
func TestWorkflowEditor(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newHookRig(t, webhooks{})
	s := siteOf(t, r.rig)
	s.signIn()
	r.paid(goodCard, "")
	s.open("/dashboard/workflows")
	s.shows(200, "There is no workflow")
	s.open("/dashboard/workflows/new")
	s.shows(200, "New workflow", "There is no condition: the workflow runs at every such event.", "50.00 EUR is 5000", "There is no action yet.")
	key, at := s.value("key"), "/dashboard/workflows/new"
	before := r.events()
	s.submit(at, "key", key, "name", "n", "trigger", "PAYMENT.STATUS AUTHORIZED", "condition", "payment.amout > 1", "do", "check")
	s.shows(200, "Line 1, column 8: there is no field amout here.")
	writeConditions(s, at, key)
	s.submit(at, draft("key", key, "do", "add", "type", "refund")...)
	s.shows(200, "1. Capture", "2. Refund")
	s.submit(at, draft("key", key, "actions[1].type", "refund", "do", "up-2")...)
	s.shows(200, "1. Refund", "2. Capture")
	s.submit(at, draft("key", key, "actions[1].type", "refund", "do", "remove-1")...)
	s.shows(200, "1. Refund")
	s.submit(at, "key", key, "name", "", "trigger", "PAYMENT.STATUS AUTHORIZED", "condition", "payment.amount >", "delaySeconds", "x", "do", "simulate")
	s.shows(422, "Give the workflow a name.", "Write a whole number.", "Choose an action and press “Add”.", "Line 1", "The workflow has no action yet.", "correct the marked fields, too")
	s.submit(at, draft("key", key, "actions[0].amount", "5", "do", "simulate")...)
	s.shows(422, "Must not be sent together with amount.")
	s.submit(at, draft("key", key, "do", "simulate")...)
	s.shows(200, "Before you save", "Capture 50% of the payment's amount. Further captures may follow.", "€12.10", "Save and enable", "All runs, newest first")
	if n := r.events() - before; n != 0 || strings.Contains(s.now.text, hostileText) {
		t.Errorf("%d events were recorded before saving; escaped: %t", n, !strings.Contains(s.now.text, hostileText))
	}
	s.submit(at, draft("key", key, "do", "edit")...)
	s.shows(200, "New workflow", "The condition is valid.")
	s.submit(at, draft("key", key, "do", "save")...)
	s.shows(200, "The workflow is made and enabled.", "Enabled", "A payment becomes authorized.", "No event has started it yet.")
	first := s.now.at
	s.submit(at, draft("key", key, "do", "save")...)
	s.shows(200, "Enabled")
	if path(s.now.at) != path(first) || r.events()-before != 1 {
		t.Errorf("the second time leads to %s, the first to %s; %d events", s.now.at, first, r.events()-before)
	}
	changeWorkflow(t, s, path(first))
}

// writeConditions checks conditions as people write them. A valid one may have a warning. A missing
// action is named, marked and has the focus.
func writeConditions(s *site, at, key string) {
	s.t.Helper()
	for condition, want := range map[string]string{
		"payment.amount < 50":                                    "The condition is valid. 50 means 0.50 EUR: amounts are in minor units. Write 5000 for 50.00 EUR.",
		"payment.amount < 50.00":                                 "write 5000 for 50.00 EUR.",
		"payment.amount < 50 and true":                           "Write &&.",
		`payment.currency == "EUR"`:                              "Write payment.currencyCode",
		`payment.amount < 5000 && payment.currencyCode == "EUR"`: "The condition is valid.",
	} {
		s.submit(at, "key", key, "name", "n", "trigger", "PAYMENT.STATUS AUTHORIZED", "condition", condition, "do", "check")
		s.shows(200, want)
	}
	s.submit(at, "key", key, "name", "n", "trigger", "PAYMENT.STATUS AUTHORIZED", "do", "simulate")
	s.shows(422, "The workflow has no action yet.")
	if !strings.Contains(s.now.text, `name="type" aria-invalid="true" aria-describedby="actions-fault" data-focus`) {
		s.t.Error("the missing action is not marked")
	}
}

func path(at string) string { return strings.SplitN(at, "?", 2)[0] }

// changeWorkflow changes the workflow at a page: by two tabs, of which the second is refused once;
// then it is disabled.
func changeWorkflow(t *testing.T, s *site, at string) {
	t.Helper()
	s.open(at + "/edit")
	version := s.value("version")
	s.submit(at+"/edit", draft("version", version, "delaySeconds", "2", "unit", "hours", "do", "simulate")...)
	s.shows(200, "Save the new version")
	save := func(delay string) {
		input := draft("version", version, "do", "save")
		input[7], input[9] = delay, "hours"
		s.submit(at+"/edit", input...)
	}
	save("2")
	s.shows(200, "The change is saved.", "Then, 2 hours after the event", "Version 2", "by admin")
	save("2")
	s.shows(200, "Nothing was done a second time.")
	save("3")
	s.shows(409, "The workflow has changed since you opened this page")
	s.open(at + "/disable")
	s.shows(200, "No further event starts the workflow.")
	s.submit(at + "/disable")
	s.shows(200, "It is disabled.", "no event starts it")
	before := s.events()
	s.submit(at + "/disable")
	if n := s.events() - before; n != 0 {
		t.Errorf("the second time recorded %d events", n)
	}
	s.open(at + "/simulate?from=2020-01-01&to=")
	s.shows(200, "What it would have done from 2020-01-01", "€12.10")
	s.open(at + "/simulate?from=tomorrow")
	s.shows(422, "Write the day as in 2026-03-14.")
}

// TestWorkflowRunsShown checks that a run shows its outcome, its payment, the amounts of its
// actions in the payment's currency, and the values that the condition read.
func TestWorkflowRunsShown(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	s := siteOf(t, r.rig)
	s.signIn()
	id := r.want(r.manage("POST", "/workflows", strings.Replace(halves, `"actions":[`, `"actions":[{"type":"refund","amount":9007199254740991},`, 1)), 200, "").text1("id")
	payment := strings.TrimPrefix(r.paid(goodCard, ""), "/payments/")
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		if strings.Contains(text(s.open("/dashboard/workflows/"+id).text), "Action 1, Refund, failed") || time.Now().After(deadline) {
			break
		}
	}
	s.shows(200, "Failed An action failed", "payment.amount", "2420", "Refund €90,071,992,547,409.91.")
	if !strings.Contains(s.now.text, "/dashboard/payments/"+payment+"?at=") {
		t.Errorf("no link to the payment: %s", s.now.text)
	}
	s.open("/dashboard/workflows")
	s.shows(200, "halves", "Failed")
}

// TestRoutingPages: rules are added, changed, moved and removed; a form that is older than the
// rules does nothing.
func TestRoutingPages(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	s.open("/dashboard/processors")
	s.shows(200, "ADYEN", "There is no rule")
	s.open("/dashboard/routing/rules/new")
	mark := s.value("mark")
	s.submit("/dashboard/routing/rules/new", "mark", mark, "name", "", "minAmount", "1,5", "metadata", "shop", "processor1", "STRIPE", "processor3", "STRIPE")
	s.shows(422, "Give the rule a name.", "Write the amount in EUR, as in 12.05.", "Line 1: write a key", "STRIPE is there twice.")
	s.submit("/dashboard/routing/rules/new", "mark", mark, "name", "two readings", "currencyCode", "kwd tnd", "minAmount", "1,500", "processor1", "STRIPE")
	s.shows(422, "1,500 could be read in two ways: as 1.500 or as 1500.000. Write the amount in KWD, as in 12.005.")
	s.submit("/dashboard/routing/rules/new", "mark", mark, "name", "two readings", "currencyCode", "eur jpy", "maxAmount", "1500", "processor1", "STRIPE")
	s.shows(422, "1500 could be read in two ways", "as in 1500.00 for 150,000 minor units.")
	s.submit("/dashboard/routing/rules/new", "mark", mark, "name", "euro", "currencyCode", "eur, xxq", "processor1", "STRIPE")
	s.shows(422, "Must be an active ISO 4217 currency code")
	add := func(mark, name, processor string) {
		s.submit("/dashboard/routing/rules/new", "mark", mark, "name", name, "currencyCode", "eur", "network", "VISA", "metadata", "tier = 2\nshop = \"7\"", "processor2", processor)
	}
	add(mark, "one", "STRIPE")
	s.shows(200, "The change is saved.", "1. one", "Metadata shop: \"7\"", "Metadata tier: 2")
	add(mark, "one", "STRIPE")
	s.shows(409, "The routing rules have changed since you opened this page.", "you add your rule after the 1 that there are now")
	mark = s.value("mark")
	add(mark, "two"+hostileText, "ADYEN")
	s.shows(200, "2. two")
	if strings.Contains(s.now.text, hostileText) {
		t.Error("a name is not escaped")
	}
	mark = s.value("mark")
	s.submit("/dashboard/routing/rules/move", "mark", mark, "place", "2", "way", "up")
	s.shows(200, "2. one")
	s.submit("/dashboard/routing/rules/move", "mark", mark, "place", "2", "way", "up")
	s.shows(409, "Nothing was done.", "2. one")
	s.open("/dashboard/processors?currency=EUR&amount=25.00&network=VISA&metadata=tier%3D2%0Ashop%3D%227%22")
	s.shows(200, "it is the first that matches", "ADYEN", "an earlier rule decides")
	s.open("/dashboard/processors?currency=EUR&amount=1,5")
	s.shows(422, "Write the amount in EUR, as in 12.05.")
	s.open("/dashboard/processors?currency=KWD&amount=0,100")
	s.shows(422, "Write the amount in KWD, as in 12.005.")
	s.open("/dashboard/payments?currency=KWD&min=1,500")
	s.shows(422, "1,500 could be read in two ways: as 1.500 or as 1500.000.")
	s.open("/dashboard/payments?min=1.50")
	s.shows(422, "Choose the currency of the amounts, one only.")
	s.open("/dashboard/routing/rules/remove?place=2")
	s.shows(200, "Remove a routing rule", "one")
	s.submit("/dashboard/routing/rules/remove", "mark", s.value("mark"), "place", "2")
	s.shows(200, "The change is saved.")
	s.open("/dashboard/routing/default")
	s.submit("/dashboard/routing/default", "mark", s.value("mark"), "processor1", "WORLDPAY")
	s.shows(200, "The change is saved.")
	s.open("/dashboard/processors?currency=USD&amount=1.00")
	s.shows(200, "The default list decides.", "the currency is another one")
	s.open("/dashboard/processors/WORLDPAY")
	mark = s.value("mark")
	s.submit("/dashboard/processors/WORLDPAY", "mark", mark, "processorMerchantId", "")
	s.shows(422, "Nothing was done.")
	s.submit("/dashboard/processors/WORLDPAY", "mark", mark, "processorMerchantId", "shop-1")
	s.shows(200, "The change is saved.", "shop-1")
	s.open("/dashboard/processors?currency=USD&amount=1.00")
	s.shows(200, "the payment would fail")
	for _, gone := range []string{"/dashboard/routing/rules/9", "/dashboard/routing/rules/remove?place=x", "/dashboard/processors/NONE"} {
		s.open(gone)
		s.shows(404)
	}
}

// TestRulePreview: the form of a rule shows how the changed rules would route the newest payments,
// and saves nothing.
func TestRulePreview(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	const add, list = "/dashboard/routing/rules/new", "/dashboard/routing/default"
	s.open(add)
	mark := s.value("mark")
	s.submit(add, "mark", mark, "name", "dear", "minAmount", "10.00", "processor1", "STRIPE", "do", "preview")
	s.shows(200, "Your newest payments, if you save this", "There is no payment yet.")
	s.paid(goodCard, "")
	s.sold(goodCard, `{"orderId":"o","currencyCode":"USD","amount":900,"order":{"countryCode":"DE"},"metadata":{"tier":2}}`)
	before := s.events()
	preview := func(path string, fields ...string) string {
		t.Helper()
		s.submit(path, append([]string{"mark", mark, "do", "preview"}, fields...)...)
		s.shows(200, "Nothing is saved yet.")
		return text(s.now.text)
	}
	preview(add, "name", "dear", "minAmount", "10.00", "processor1", "STRIPE", "processor2", "ADYEN")
	s.shows(200, "The rule would decide 1 of these 2. For 1 of the 2, other processors would be tried", "STRIPE → , then ADYEN ( rule dear ) Changed", "( all enabled )", "VISA, DE", "$9.00")
	if s.value("name") != "dear" || s.value("minAmount") != "10.00" {
		t.Error("the input is lost")
	}
	preview(add, "name", "german", "countryCode", "DE", "metadata", "tier = 2", "processor1", "STRIPE")
	s.shows(200, "The rule would decide 1 of these 2.")
	preview(list, "processor1", "WORLDPAY")
	s.shows(200, "The default list would decide 2 of these 2. For 2 of the 2", "WORLDPAY ( default list ) Changed")
	preview(add, "name", "none", "currencyCode", "JPY", "processor1", "STRIPE")
	s.shows(200, "The rule would decide 0 of these 2. For all of them, the same processors would be tried as now.")
	s.submit(add, "mark", mark, "name", "euro", "currencyCode", "xxq", "processor1", "STRIPE", "do", "preview")
	s.shows(422, "Must be an active ISO 4217 currency code")
	s.submit(add, "mark", mark, "name", "", "processor1", "STRIPE", "do", "preview")
	s.shows(422, "Give the rule a name.")
	if n := s.events() - before; n != 0 {
		t.Errorf("previews recorded %d events", n)
	}
	token := s.rig.want(s.rig.browser(s.session(someSession), entered(formToken, "")), 200, "").text1("token")
	s.want(s.post("/payments", `{"paymentMethodToken":"`+token+`"}`), 200, "")
	preview(list, "processor1", "WORLDPAY", "processor2", "ADYEN")
	s.shows(200, "The default list would decide 3 of these 3.", "(a token of STRIPE, which pays only there) STRIPE ( all enabled ) Refused ( default list ) Changed")
	preview(list, "processor1", "STRIPE", "processor2", "ADYEN")
	s.shows(200, "For 2 of the 3, other processors would be tried", "(a token of STRIPE, which pays only there) STRIPE ( all enabled ) STRIPE ( default list )")
}

// TestAmountsOfWorkflows: an amount is typed and shown in the currency that the condition demands,
// and else in minor units. It keeps its value if the condition changes.
func TestAmountsOfWorkflows(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newHookRig(t, webhooks{})
	s := siteOf(t, r.rig)
	s.signIn()
	const at = "/dashboard/workflows/new"
	const euro, yen = `payment.currencyCode == "EUR"`, `payment.currencyCode == "JPY"`
	send := func(do, unit, condition, amount string) {
		s.t.Helper()
		s.submit(at, "key", s.value("key"), "name", "part", "trigger", "PAYMENT.STATUS AUTHORIZED", "condition", condition, "amountUnit", unit,
			"actions[0].type", "capture", "actions[0].amount", amount, "actions[0].final", "yes", "do", do)
	}
	s.open(at)
	send("check", "", "", "1050")
	s.shows(200, "Or an amount, in minor units", "1050 is 10.50 EUR or 1,050 JPY")
	send("check", "", euro, "1050")
	s.shows(200, "Or an amount, in EUR", "lets only payments in EUR through")
	s.shows(200, "The amounts are in EUR now: check them.")
	if got := s.value(`actions\[0\].amount`) + s.value("amountUnit"); got != "10.50EUR" {
		t.Errorf("1050 is %s", got)
	}
	for _, c := range []struct{ do, unit, condition, amount, notice, now string }{
		{"simulate", "", euro, "50", "Nothing was done. The amounts are in EUR now: check them.", "0.50EUR"},
		{"save", "EUR", yen, "5000", "Nothing was done. The amounts are in JPY now: check them.", "500000JPY"},
		{"save-disabled", "EUR", "", "50", "Nothing was done. The amounts are in minor units now: check them.", "5000"},
	} {
		before := r.events()
		send(c.do, c.unit, c.condition, c.amount)
		s.shows(422, c.notice)
		s.lacks("Before you save")
		if got := s.value(`actions\[0\].amount`) + s.value("amountUnit"); got != c.now || r.events() != before {
			t.Errorf("%s %s: %s, %d events", c.unit, c.amount, got, r.events()-before)
		}
	}
	send("check", "EUR", yen, "10.50")
	if got := s.value(`actions\[0\].amount`) + s.value("amountUnit"); got != "1050JPY" {
		t.Errorf("10.50 EUR is %s", got)
	}
	send("simulate", "EUR", euro, "10.505")
	s.shows(422, "Write the amount in EUR, as in 12.05.")
	send("simulate", "EUR", euro, "0")
	s.shows(422, "Write an amount above 0.")
	send("simulate", "", "", "10.50")
	s.shows(422, "Write a whole number of minor units")
	send("simulate", "EUR", euro, "1,010.50")
	s.shows(200, "Before you save", "Capture €1,010.50.")
	send("save-disabled", s.value("amountUnit"), euro, s.value(`actions\[0\].amount`))
	s.shows(200, "The workflow is made.", "Capture €1,010.50.")
	if a := r.want(r.manage("GET", "/workflows", ""), 200, ""); !strings.Contains(a.text, `"amount":101050`) {
		t.Errorf("the API has %s", a.text)
	}
	s.open(path(s.now.at) + "/edit")
	if got := s.value(`actions\[0\].amount`); got != "1010.50" {
		t.Errorf("the editor has %s", got)
	}
}

// TestLimitsOfRules: the limits of a rule are typed and shown in the unit of its currencies. The
// API has them in minor units.
func TestLimitsOfRules(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	for i, c := range []struct{ currencies, typed, shown, again, minor string }{
		{"EUR", "10.50", "Amount at least: €10.50", "10.50", "1050"},
		{"JPY", "1,050", "Amount at least: ¥1,050", "1050", "1050"},
		{"JPY KRW", "1050", "Amount at least: 1050 (1,050 minor units)", "1050", "1050"},
		{"EUR JPY", "10.5", "Amount at least: 10.50 (1,050 minor units)", "10.50", "1050"},
		{"", "0", "Amount at least: 0.00 (0 minor units)", "0.00", "0"},
	} {
		s.open("/dashboard/routing/rules/new")
		s.submit("/dashboard/routing/rules/new", "mark", s.value("mark"), "name", fmt.Sprint("rule", i), "currencyCode", c.currencies, "minAmount", c.typed, "processor1", "STRIPE")
		s.shows(200, "The change is saved.", c.shown)
		s.open(fmt.Sprint("/dashboard/routing/rules/", i+1))
		if got := s.value("minAmount"); got != c.again {
			t.Errorf("%s %s is shown as %s", c.currencies, c.typed, got)
		}
		if rules := s.want(s.manage("GET", "/routing", ""), 200, "").text; strings.Count(rules, `"minAmount":`+c.minor) < 1 {
			t.Errorf("%s %s: the API has %s", c.currencies, c.typed, rules)
		}
	}
}

// TestListAfterAChange: after an addition, the page lists the new user.
func TestListAfterAChange(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	s.open("/dashboard/users")
	s.submit("/dashboard/users", "email", "olga@shop.example", "role", "operator")
	s.shows(200, "olga@shop.example is added", "olga@shop.example operator")
}

// TestOnlyAdminStays: the reason why the only administrator stays is in the section of the refused
// change.
func TestOnlyAdminStays(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	at := "/dashboard/users/" + string(s.accountNow().Users[0].ID)
	for change, order := range map[string][2]string{"remove": {"Remove", "only admin"}, "role": {"only admin", "Remove"}} {
		s.open(at)
		s.submit(at, "mark", s.value("mark"), "change", change, "role", "auditor")
		s.shows(422, "Nothing was done.", "make another user an admin first.")
		if page := text(s.now.text); strings.Index(page, " "+order[0]+" ") > strings.Index(page, order[1]) {
			t.Errorf("%s: the reason is at the wrong place: %s", change, page)
		}
		if n := strings.Count(s.now.text, "only admin"); n != 1 {
			t.Errorf("%s: the reason is there %d times", change, n)
		}
	}
}

// TestConfigurationByRole: operators and auditors see workflows and routing without the buttons,
// may simulate, and change nothing.
func TestConfigurationByRole(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newHookRig(t, webhooks{})
	s := siteOf(t, r.rig)
	id := r.want(r.manage("POST", "/workflows", halves), 200, "").text1("id")
	r.want(r.manage("PUT", "/routing", `{"rules":[{"name":"a","when":{},"processors":["STRIPE"]},{"name":"b","when":{},"processors":["STRIPE"]}]}`), 200, "")
	for _, role := range []account.Role{account.RoleOperator, account.RoleAuditor} {
		b := s.as(role)
		at := "/dashboard/workflows/" + id
		b.open("/dashboard/processors")
		mark := b.mark(t, s)
		for _, page := range []string{"/dashboard/workflows", at, "/dashboard/processors"} {
			b.open(page)
			b.shows(200)
			for _, change := range []string{"New workflow", ">Change<", ">Disable<", "Add a rule", "Move up"} {
				if strings.Contains(b.now.text, change) {
					t.Errorf("%s shows %q to the %s", page, change, role)
				}
			}
		}
		b.open(at + "/simulate?from=2020-01-01")
		b.shows(200, "What it would have done")
		b.open("/dashboard/processors?currency=EUR&amount=1")
		b.shows(200, "it is the first that matches")
		before := r.events()
		for _, c := range [][]string{
			{"/dashboard/workflows/new", "do", "save"}, {at + "/edit", "do", "save"}, {at + "/disable"}, {at + "/enable"},
			{"/dashboard/processors/STRIPE", "processorMerchantId", "x"}, {"/dashboard/routing/rules/new", "mark", mark, "name", "c", "processor1", "STRIPE"},
			{"/dashboard/routing/rules/1", "mark", mark, "name", "c", "processor1", "STRIPE"}, {"/dashboard/routing/rules/move", "mark", mark, "place", "1", "way", "down"},
			{"/dashboard/routing/rules/remove", "mark", mark, "place", "1"}, {"/dashboard/routing/default", "mark", mark, "processor1", "STRIPE"},
		} {
			input := c[1:]
			if strings.HasPrefix(c[0], "/dashboard/workflows") && len(input) > 0 {
				input = draft(append(input, "version", "1")...)
			}
			b.submit(c[0], input...)
			b.shows(403, "Your role does not allow this")
		}
		if n := r.events() - before; n != 0 {
			t.Errorf("the %s made %d changes", role, n)
		}
	}
}

// mark returns the mark of the rules, which only an admin's pages have.
func (s *site) mark(t *testing.T, of *site) string {
	t.Helper()
	admin := of.browserOf()
	admin.signIn()
	admin.open("/dashboard/routing/rules/new")
	return admin.value("mark")
}

// TestDisputePages checks that open disputes with the nearest deadline come first, that filters are
// in the address, and that the history contains the verdict about each notification.
func TestDisputePages(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	s.open("/dashboard/disputes")
	s.shows(200, "There is no dispute")
	payments, all := disputed(s.rig, 6)
	s.open("/dashboard/disputes")
	s.shows(200, "Answer these first", "days left", "All disputes")
	s.holds(`href="/dashboard/disputes" aria-current="true"><bdi>All<`)
	s.lacks(`status=OPEN" aria-current`)
	first := all[0]["id"].(string)
	s.open("/dashboard/disputes?payment=" + payments[1] + "&type=DISPUTE")
	s.shows(200, "Disputes that fit the filters")
	if strings.Contains(s.now.text, "Answer these first") {
		t.Error("a filtered list begins with other disputes")
	}
	s.open("/dashboard/disputes?status=WON")
	s.shows(200, "No dispute fits these filters")
	s.lacks(`aria-current="true"><bdi>All<`)
	s.open("/dashboard/disputes?from=x")
	s.shows(422, "Write the day as in 2026-03-14.")
	s.open("/dashboard/disputes?status=" + "NONE")
	s.shows(422, "Nothing was done.")
	s.open("/dashboard/disputes/" + first)
	s.shows(200, "It opened the dispute here.", "It waits for your answer.", "Next: Answer the dispute by ", fmt.Sprint("code ", all[0]["reasonCode"]), "Answer by")
	if !strings.Contains(s.now.text, "/dashboard/payments/"+all[0]["paymentId"].(string)) {
		t.Error("no link to the payment")
	}
	s.late.Store(90 * 24 * 3600)
	s.signIn()
	s.open("/dashboard/disputes/" + first)
	s.shows(200, "The deadline passed")
	s.open("/dashboard/disputes")
	s.shows(200, "All disputes", "The deadline passed")
	if strings.Contains(s.now.text, "Answer these first") {
		t.Error("disputes that nobody can answer any more come first")
	}
	s.open("/dashboard/disputes/unknown")
	s.shows(404)
}
