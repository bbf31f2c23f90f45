package account_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
)

// merchant is an account with all processors, of which Braintree and PayPal are disabled.
func merchant(r account.Routing) account.State {
	c := created()
	c.Processors = nil
	for i, name := range processor.Names {
		enabled := name != processor.Braintree && name != processor.PayPal
		c.Processors = append(c.Processors, account.Processor{Name: name, MerchantID: fmt.Sprint("m-", i), Enabled: enabled})
	}
	s := account.Evolve(account.State{}, c)
	s.Routing = r
	return s
}

func names(route []account.Processor) (out []processor.Name) {
	for _, p := range route {
		out = append(out, p.Name)
	}
	return out
}

// facts of an ordinary payment, for the tables.
var facts = account.RouteFacts{
	Currency: "EUR", Network: domain.NetworkVisa, Amount: 2500, CountryCode: "DE",
	Metadata: domain.Metadata{"shop": "north", "tier": int64(2), "gift": true},
}

// TestRouteConditions: each condition on its own and all together (D15).
func TestRouteConditions(t *testing.T) {
	for name, c := range map[string]struct {
		when account.Conditions
		want bool
	}{
		"none":                        {account.Conditions{}, true},
		"currency":                    {account.Conditions{Currencies: []domain.Currency{"USD", "EUR"}}, true},
		"another currency":            {account.Conditions{Currencies: []domain.Currency{"USD"}}, false},
		"network":                     {account.Conditions{Networks: []domain.Network{domain.NetworkVisa}}, true},
		"another network":             {account.Conditions{Networks: []domain.Network{domain.NetworkMastercard}}, false},
		"country":                     {account.Conditions{Countries: []string{"FR", "DE"}}, true},
		"another country":             {account.Conditions{Countries: []string{"FR"}}, false},
		"least is met":                {account.Conditions{MinAmount: ptr[domain.Amount](2500)}, true},
		"least is missed":             {account.Conditions{MinAmount: ptr[domain.Amount](2501)}, false},
		"most is met":                 {account.Conditions{MaxAmount: ptr[domain.Amount](2500)}, true},
		"most is missed":              {account.Conditions{MaxAmount: ptr[domain.Amount](2499)}, false},
		"most is nothing":             {account.Conditions{MaxAmount: ptr[domain.Amount](0)}, false},
		"metadata":                    {account.Conditions{Metadata: domain.Metadata{"shop": "north", "tier": int64(2), "gift": true}}, true},
		"one key of metadata differs": {account.Conditions{Metadata: domain.Metadata{"shop": "north", "tier": int64(3)}}, false},
		"metadata of another type":    {account.Conditions{Metadata: domain.Metadata{"tier": "2"}}, false},
		"metadata without the key":    {account.Conditions{Metadata: domain.Metadata{"brand": ""}}, false},
		"all":                         {account.Conditions{Currencies: []domain.Currency{"EUR"}, Networks: []domain.Network{domain.NetworkVisa}, Countries: []string{"DE"}, MinAmount: ptr[domain.Amount](1), MaxAmount: ptr[domain.Amount](9999), Metadata: domain.Metadata{"gift": true}}, true},
		"all but one":                 {account.Conditions{Currencies: []domain.Currency{"EUR"}, Networks: []domain.Network{domain.NetworkVisa}, Countries: []string{"AT"}, MinAmount: ptr[domain.Amount](1), MaxAmount: ptr[domain.Amount](9999), Metadata: domain.Metadata{"gift": true}}, false},
	} {
		s := merchant(account.Routing{
			Rules:   []account.Rule{{Name: "r", When: c.when, Processors: []processor.Name{processor.Stripe}}},
			Default: []processor.Name{processor.Worldpay},
		})
		if got := slices.Equal(names(s.Route(facts)), []processor.Name{processor.Stripe}); got != c.want {
			t.Errorf("%s: matched is %v", name, got)
		}
	}
	nowhere := merchant(account.Routing{Rules: []account.Rule{{When: account.Conditions{Countries: []string{"DE"}}, Processors: []processor.Name{processor.Stripe}}}})
	if got := nowhere.Route(account.RouteFacts{}); len(got) != 4 {
		t.Errorf("an order without a country goes to %v", got)
	}
}

// TestRoute checks which list of processors decides, the order of the lists, and which processors
// remain (D15).
func TestRoute(t *testing.T) {
	euro := account.Conditions{Currencies: []domain.Currency{"EUR"}}
	dollar := account.Conditions{Currencies: []domain.Currency{"USD"}}
	rule := func(when account.Conditions, to ...processor.Name) account.Rule {
		return account.Rule{When: when, Processors: to}
	}
	for name, c := range map[string]struct {
		rules []account.Rule
		def   []processor.Name
		want  string
	}{
		"no rules":                     {nil, nil, "ADYEN CHECKOUT STRIPE WORLDPAY"},
		"the default, in its order":    {nil, []processor.Name{"WORLDPAY", "ADYEN"}, "WORLDPAY ADYEN"},
		"no match, no default":         {[]account.Rule{rule(dollar, "STRIPE")}, nil, "ADYEN CHECKOUT STRIPE WORLDPAY"},
		"no match":                     {[]account.Rule{rule(dollar, "STRIPE")}, []processor.Name{"CHECKOUT"}, "CHECKOUT"},
		"the list's order":             {[]account.Rule{rule(euro, "WORLDPAY", "STRIPE", "ADYEN")}, nil, "WORLDPAY STRIPE ADYEN"},
		"the first match wins":         {[]account.Rule{rule(dollar, "ADYEN"), rule(euro, "STRIPE"), rule(euro, "WORLDPAY")}, nil, "STRIPE"},
		"disabled ones are left out":   {[]account.Rule{rule(euro, "PAYPAL", "STRIPE", "BRAINTREE")}, nil, "STRIPE"},
		"none is enabled":              {[]account.Rule{rule(euro, "PAYPAL", "BRAINTREE"), rule(euro, "STRIPE")}, []processor.Name{"ADYEN"}, ""},
		"none of the default's either": {nil, []processor.Name{"PAYPAL"}, ""},
	} {
		s := merchant(account.Routing{Rules: c.rules, Default: c.def})
		if got := strings.Trim(fmt.Sprint(names(s.Route(facts))), "[]"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	route := merchant(account.Routing{}).Route(facts)
	if route[1].MerchantID != "m-2" {
		t.Errorf("the route is %v", route)
	}
}

// drawConditions makes any conditions of small vocabularies, so that many of them hold.
func drawConditions(t *rapid.T) (c account.Conditions) {
	c.Currencies = rapid.SliceOfN(rapid.SampledFrom([]domain.Currency{"EUR", "USD"}), 0, 2).Draw(t, "currencies")
	c.Networks = rapid.SliceOfN(rapid.SampledFrom([]domain.Network{domain.NetworkVisa, domain.NetworkMastercard}), 0, 2).Draw(t, "networks")
	c.Countries = rapid.SliceOfN(rapid.SampledFrom([]string{"DE", "FR"}), 0, 2).Draw(t, "countries")
	limit := rapid.Ptr(rapid.Map(rapid.Int64Range(0, 5), func(n int64) domain.Amount { return domain.Amount(n) }), true)
	c.MinAmount, c.MaxAmount = limit.Draw(t, "min"), limit.Draw(t, "max")
	if rapid.Bool().Draw(t, "has metadata") {
		c.Metadata = domain.Metadata{"k": rapid.SampledFrom([]any{"v", int64(1), true}).Draw(t, "value")}
	}
	return c
}

// matches is Conditions as the contract says it, word by word.
func matches(c account.Conditions, f account.RouteFacts) bool {
	fails := len(c.Currencies) > 0 && !slices.Contains(c.Currencies, f.Currency)
	fails = fails || len(c.Networks) > 0 && !slices.Contains(c.Networks, f.Network)
	fails = fails || len(c.Countries) > 0 && !slices.Contains(c.Countries, f.CountryCode)
	fails = fails || c.MinAmount != nil && f.Amount < *c.MinAmount
	fails = fails || c.MaxAmount != nil && f.Amount > *c.MaxAmount
	for k, v := range c.Metadata {
		sent, there := f.Metadata[k]
		fails = fails || !there || !reflect.DeepEqual(sent, v)
	}
	return !fails
}

// TestRouteIsTotal: any payment has a route, of enabled processors only, and exactly those of the
// first rule that matches, in its order (D15).
func TestRouteIsTotal(t *testing.T) {
	list := rapid.SliceOfNDistinct(rapid.SampledFrom(processor.Names), 0, 6, rapid.ID[processor.Name])
	seedtest.Check(t, func(t *rapid.T) {
		var s account.State
		for _, name := range processor.Names {
			s.Processors = append(s.Processors, account.Processor{Name: name, Enabled: rapid.Bool().Draw(t, string(name))})
		}
		for range rapid.IntRange(0, 4).Draw(t, "rules") {
			s.Routing.Rules = append(s.Routing.Rules, account.Rule{When: drawConditions(t), Processors: list.Draw(t, "list")})
		}
		s.Routing.Default = list.Draw(t, "default")
		f := account.RouteFacts{
			Currency: rapid.SampledFrom([]domain.Currency{"EUR", "USD", "JPY"}).Draw(t, "currency"),
			Network:  rapid.SampledFrom([]domain.Network{domain.NetworkVisa, ""}).Draw(t, "network"),
			Amount:   domain.Amount(rapid.Int64Range(0, 6).Draw(t, "amount")), CountryCode: rapid.SampledFrom([]string{"DE", ""}).Draw(t, "country"),
			Metadata: rapid.SampledFrom([]domain.Metadata{nil, {"k": "v"}, {"k": int64(1)}, {"other": true}}).Draw(t, "metadata"),
		}
		from := processor.Names
		if len(s.Routing.Default) > 0 {
			from = s.Routing.Default
		}
		if i := slices.IndexFunc(s.Routing.Rules, func(r account.Rule) bool { return matches(r.When, f) }); i >= 0 {
			from = s.Routing.Rules[i].Processors
		}
		var want []processor.Name
		for _, name := range from {
			if p, _ := s.Processor(name); p.Enabled {
				want = append(want, name)
			}
		}
		if got := names(s.Route(f)); !slices.Equal(got, want) {
			t.Fatalf("the route is %v, want %v", got, want)
		}
	})
}

// full is a routing that uses everything.
func full() account.Routing {
	return account.Routing{
		Rules: []account.Rule{{
			Name: "large", Processors: []processor.Name{processor.Stripe, processor.Adyen},
			When: account.Conditions{
				Currencies: []domain.Currency{"EUR"}, Networks: []domain.Network{domain.NetworkVisa}, Countries: []string{"DE"},
				MinAmount: ptr[domain.Amount](5), MaxAmount: ptr[domain.Amount](5), Metadata: domain.Metadata{"tier": int64(1)},
			},
		}, {Name: "rest", Processors: []processor.Name{processor.Adyen}}},
		Default: []processor.Name{processor.Worldpay},
	}
}

// TestChangeRouting: the rules are replaced as a whole; the same ones again record nothing (D20).
func TestChangeRouting(t *testing.T) {
	s := merchant(account.Routing{})
	e, err := account.DecideChangeRouting(s, account.ChangeRouting{At: at, Routing: full()})
	if err != nil {
		t.Fatal(err)
	}
	next := account.Evolve(s, e)
	if !reflect.DeepEqual(next.Routing, full()) || next.Revision != 2 || len(s.Routing.Rules) != 0 {
		t.Errorf("the routing is %+v", next.Routing)
	}
	if e, err := account.DecideChangeRouting(next, account.ChangeRouting{At: at, Routing: full()}); e != nil || err != nil {
		t.Errorf("the same again: %v, %v", e, err)
	}
	for i, change := range []func(*account.Routing){
		func(r *account.Routing) { r.Default = nil },
		func(r *account.Routing) { slices.Reverse(r.Rules) },
		func(r *account.Routing) { slices.Reverse(r.Rules[0].Processors) },
		func(r *account.Routing) { r.Rules[0].Name = "other" },
		func(r *account.Routing) { r.Rules[0].When.Currencies = nil },
		func(r *account.Routing) { r.Rules[0].When.Networks = nil },
		func(r *account.Routing) { r.Rules[0].When.Countries = []string{"FR"} },
		func(r *account.Routing) { r.Rules[0].When.MinAmount = ptr[domain.Amount](0) },
		func(r *account.Routing) { r.Rules[0].When.MaxAmount = nil },
		func(r *account.Routing) { r.Rules[0].When.Metadata["tier"] = "1" },
	} {
		other := full()
		change(&other)
		if e, err := account.DecideChangeRouting(next, account.ChangeRouting{At: at, Routing: other}); e == nil || err != nil {
			t.Errorf("change %d: %v, %v", i, e, err)
		}
	}
}

// TestRoutingFaults: all of them at once, each with its path.
func TestRoutingFaults(t *testing.T) {
	long := strings.Repeat("é", account.MaxRuleName+1)
	bad := account.Routing{Default: []processor.Name{"ADYEN", "SQUARE", "ADYEN"}, Rules: []account.Rule{
		{Name: "", Processors: nil},
		{Name: "a", Processors: []processor.Name{"stripe"}, When: account.Conditions{
			Currencies: []domain.Currency{"EUR", "eur", "EUR"}, Networks: []domain.Network{"VISA", "Visa"}, Countries: []string{"UK"},
			MinAmount: ptr[domain.Amount](-1), MaxAmount: ptr(domain.MaxAmount + 1), Metadata: domain.Metadata{"": "x"},
		}},
		{Name: "a", Processors: []processor.Name{"STRIPE"}, When: account.Conditions{
			MinAmount: ptr[domain.Amount](6), MaxAmount: ptr[domain.Amount](5), Metadata: domain.Metadata{"k": strings.Repeat("x", account.MaxRuleMetadataBytes)},
		}},
		{Name: long, Processors: []processor.Name{"STRIPE"}, When: account.Conditions{
			Metadata: domain.Metadata{"1": 1.5, "2": "", "3": "", "4": "", "5": "", "6": "", "7": "", "8": "", "9": ""},
		}},
	}}
	want := []string{
		"$.default must not name anything twice", "$.default[1] must be a processor",
		"$.rules[0].name must not be empty", "$.rules[0].processors must not be empty",
		"$.rules[1].processors[0] must be a processor",
		"$.rules[1].when.countryCode[0] must be an ISO 3166-1 alpha-2 country code",
		"$.rules[1].when.currencyCode must not name anything twice",
		"$.rules[1].when.currencyCode[1] must be an active ISO 4217 currency code",
		"$.rules[1].when.maxAmount must be an integer between 0 and 9007199254740991",
		"$.rules[1].when.metadata must have no empty key",
		"$.rules[1].when.minAmount must be an integer between 0 and 9007199254740991",
		"$.rules[1].when.network[1] must be a card network",
		"$.rules[2].name is the name of another rule",
		"$.rules[2].when.maxAmount must not be below minAmount",
		"$.rules[2].when.metadata must be at most 512 bytes in all",
		"$.rules[3].name must be at most 64 characters long",
		"$.rules[3].when.metadata must have at most 8 keys",
	}
	expectFaults(t, "RoutingRequest", want, func(s account.State) (account.Event, error) {
		return account.DecideChangeRouting(s, account.ChangeRouting{At: at, Routing: bad})
	})
	many := account.Routing{Rules: make([]account.Rule, account.MaxRules+1)}
	for i := range many.Rules {
		many.Rules[i] = account.Rule{Name: fmt.Sprint(i), Processors: []processor.Name{processor.Adyen}}
	}
	many.Rules[7].When.Currencies = slices.Repeat([]domain.Currency{"EUR"}, account.MaxConditionValues+1)
	expectFaults(t, "RoutingRequest", []string{
		"$.rules must have at most 50 elements", "$.rules[7].when.currencyCode must have at most 50 elements",
		"$.rules[7].when.currencyCode must not name anything twice",
	}, func(s account.State) (account.Event, error) {
		return account.DecideChangeRouting(s, account.ChangeRouting{At: at, Routing: many})
	})
}
