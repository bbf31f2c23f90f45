package management_test

import (
	"slices"
	"testing"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/httpapi/management"
	"payledger/httpapi/request"
)

// germanCards returns rules with every condition, and their JSON.
func germanCards() (account.Routing, string) {
	least, most := domain.Amount(2000), domain.Amount(3000)
	return account.Routing{Rules: []account.Rule{
			{Name: "german", When: account.Conditions{
				Currencies: []domain.Currency{"EUR"}, Networks: []domain.Network{"VISA"}, Countries: []string{"DE"}, MinAmount: &least, MaxAmount: &most,
				Metadata: domain.Metadata{"tier": int64(2), "shop": "north", "gift": true},
			}, Processors: []processor.Name{"PAYPAL", "WORLDPAY", "STRIPE"}},
			{Name: "dollars", When: account.Conditions{Currencies: []domain.Currency{"USD"}}, Processors: []processor.Name{"PAYPAL"}},
		}, Default: []processor.Name{"STRIPE", "PAYPAL"}}, `{"rules":[` +
			`{"name":"german","when":{"currencyCode":["EUR"],"network":["VISA"],"countryCode":["DE"],"minAmount":2000,"maxAmount":3000,"metadata":{"gift":true,"shop":"north","tier":2}},"processors":["PAYPAL","WORLDPAY","STRIPE"]},` +
			`{"name":"dollars","when":{"currencyCode":["USD"]},"processors":["PAYPAL"]}],"default":["STRIPE","PAYPAL"]}`
}

// TestRouting checks that the command gets the rules of the body, with metadata as integers, and
// that answers have the rules of the account (D15).
func TestRouting(t *testing.T) {
	r := newRig(t)
	rules, text := germanCards()
	put := request.WithBody(r.h.PutRouting)
	r.answered(`{"rules":[],"default":[]}`)(put(r.body(text)))
	r.changed("ChangeRouting", rules)
	r.doubles.routing = rules
	r.answered(text)(put(r.body(`{"rules":[]}`)))
	r.changed("ChangeRouting", account.Routing{Rules: []account.Rule{}})

	r.answered(`{"rules":[],"default":[]}`)(r.h.GetRouting(r.with()))
	r.merchant.Routing = rules
	r.answered(text)(r.h.GetRouting(r.with()))
}

// TestRoutingRules checks that the faults that the aggregate finds are added at their fields. A
// field that is absent, or that the schema has found a fault at, gets no second one (D3).
func TestRoutingRules(t *testing.T) {
	r := newRig(t)
	for body, want := range map[string][]string{
		`{"rules":[]}`:                   nil,
		`{}`:                             nil,
		`{"rules":[{}],"default":["A"]}`: {"$.default[0] must be a processor"},
		`{"rules":[{"name":"a","when":{"currencyCode":["EUR","XXQ"]},"processors":["ADYEN"]},{"name":"a","when":{"minAmount":6,"maxAmount":5},"processors":["ADYEN"]}]}`: {
			"$.rules[0].when.currencyCode[1] must be an active ISO 4217 currency code", "$.rules[1].name is the name of another rule", "$.rules[1].when.maxAmount must not be below minAmount",
		},
		`{"rules":[{"name":"a","when":{"metadata":{"tier":2.0,"list":[1]}},"processors":["ADYEN"]}]}`: {
			"$.rules[0].when.metadata.list must be a string, an integer between -9007199254740991 and 9007199254740991, or true or false",
		},
	} {
		got := r.faults("replaceRouting", r.body(body))
		slices.Sort(got)
		same(t, body, got, want)
	}
	found := domain.Violation{Path: "$.rules[0].when.currencyCode[0]", Description: "must be a string"}
	same(t, "found by the schema", r.faults("replaceRouting", r.body(`{"rules":[{"name":"a","when":{"currencyCode":["XXQ"]},"processors":["ADYEN"]}]}`), found), nil)
}

// TestPreviewRouting checks that the preview names the list that decides, its order, the processors
// that it leaves out, and the condition at which each other rule fails (D15, D20).
func TestPreviewRouting(t *testing.T) {
	r := newRig(t)
	for _, name := range processor.Names {
		if name != "CHECKOUT" { // the account has none there
			r.merchant.Processors = append(r.merchant.Processors, account.Processor{Name: name, MerchantID: "m", Enabled: name != "PAYPAL"})
		}
	}
	preview := func(body string) (any, error) { return request.WithBody(r.h.PreviewRouting)(r.body(body)) }
	on := func(name string) string { return `{"name":"` + name + `","processorMerchantId":"m","enabled":true}` }
	const euro = `{"currencyCode":"EUR","amount":2500}`
	r.answered(`{"decidedBy":"ALL","processors":[` + on("ADYEN") + `,` + on("BRAINTREE") + `,` + on("STRIPE") + `,` + on("WORLDPAY") + `],"disabled":["CHECKOUT","PAYPAL"],"rules":[]}`)(
		preview(euro))
	r.h.Connection = func(name processor.Name) processor.Connection {
		if name == "STRIPE" {
			return processor.Connection{State: processor.NoAddress}
		}
		return processor.Connection{State: processor.NotAnswering} // it is tried all the same
	}
	r.answered(`{"decidedBy":"ALL","processors":[` + on("ADYEN") + `,` + on("BRAINTREE") + `,` + on("WORLDPAY") + `],"disabled":["CHECKOUT","PAYPAL"],"noAddress":["STRIPE"],"rules":[]}`)(
		preview(euro))
	r.h.Connection = nil
	r.merchant.Routing, _ = germanCards()
	rules := func(german, dollars string) string {
		one := func(name, fails string) string {
			if fails == "" {
				return `{"name":"` + name + `","matches":true}`
			}
			return `{"name":"` + name + `","matches":false,"fails":"` + fails + `"}`
		}
		return `,"rules":[` + one("german", german) + `,` + one("dollars", dollars) + `]}`
	}
	const german = `{"currencyCode":"EUR","amount":2500,"network":"VISA","countryCode":"DE","metadata":{"tier":2.0,"shop":"north","gift":true}}`
	byGerman := `{"decidedBy":"RULE","rule":"german","processors":[` + on("WORLDPAY") + `,` + on("STRIPE") + `],"disabled":["PAYPAL"]`
	r.answered(byGerman + rules("", "currencyCode"))(preview(german))
	byDefault := `{"decidedBy":"DEFAULT","processors":[` + on("STRIPE") + `],"disabled":["PAYPAL"]`
	r.answered(byDefault + rules("network", "currencyCode"))(preview(euro))
	r.answered(byDefault + rules("countryCode", "currencyCode"))(preview(`{"currencyCode":"EUR","amount":2500,"network":"VISA"}`))
	r.answered(byDefault + rules("minAmount", "currencyCode"))(preview(`{"currencyCode":"EUR","amount":1999,"network":"VISA","countryCode":"DE"}`))
	r.answered(byDefault + rules("maxAmount", "currencyCode"))(preview(`{"currencyCode":"EUR","amount":3001,"network":"VISA","countryCode":"DE"}`))
	r.answered(byDefault + rules("metadata", "currencyCode"))(preview(`{"currencyCode":"EUR","amount":2500,"network":"VISA","countryCode":"DE","metadata":{"tier":"2"}}`))
	r.answered(`{"decidedBy":"RULE","rule":"dollars","processors":[],"disabled":["PAYPAL"]` + rules("currencyCode", ""))(preview(`{"currencyCode":"USD","amount":0}`))
	r.made() // a preview changes nothing
}

// TestPreviewRules: a currency of the preview is an active one, once; its metadata has the limits
// of D4.
func TestPreviewRules(t *testing.T) {
	r := newRig(t)
	const fault = "$.currencyCode must be an active ISO 4217 currency code"
	for body, want := range map[string][]string{
		`{"currencyCode":"EUR"}`: nil,
		`{"currencyCode":7}`:     nil,
		`{"currencyCode":"XXQ"}`: {fault},
		`{"metadata":{"":1}}`:    {"$.metadata[''] must not be empty as a key"},
	} {
		same(t, body, r.faults("previewRouting", r.body(body)), want)
	}
	same(t, "found by the schema", r.faults("previewRouting", r.body(`{"currencyCode":"eur"}`), domain.Violation{Path: "$.currencyCode"}), nil)
}

// TestAllows checks the calls of each role beside those of its scopes: an operator also makes six
// changes, every role simulates workflows, and an unknown role makes no call (D20). A test of
// httpapi has all calls.
func TestAllows(t *testing.T) {
	all := []account.Role{account.RoleAdmin, account.RoleOperator, account.RoleAuditor}
	for _, c := range []struct {
		scope, operation string
		want             []account.Role
	}{
		{account.ScopeAccountRead, "listUsers", all},
		{account.ScopeAccountWrite, "simulateWorkflow", all},
		{account.ScopeAccountWrite, "createUser", all[:1]},
		{account.ScopeAccountWrite, "simulateNewWorkflow", all[:1]},
		{account.ScopeAccountWrite, "captureManagedPayment", all[:2]},
		{account.ScopeAccountWrite, "refundManagedPayment", all[:2]},
		{account.ScopeAccountWrite, "cancelManagedPayment", all[:2]},
		{account.ScopeAccountWrite, "testWebhookEndpoint", all[:2]},
		{account.ScopeAccountWrite, "resendWebhookDelivery", all[:2]},
		{account.ScopeAccountWrite, "createWebhookReplay", all[:2]},
		{account.ScopeTransactionsRefund, "refundPayment", all[:2]},
		{account.ScopeTransactionsAuthorize, "createPayment", all[:1]},
	} {
		for _, role := range []account.Role{account.RoleAdmin, account.RoleOperator, account.RoleAuditor, "", "owner"} {
			if got := management.Allows(role, c.scope, c.operation); got != slices.Contains(c.want, role) {
				t.Errorf("%q, %s: %t", role, c.operation, got)
			}
		}
	}
}
