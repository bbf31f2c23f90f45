package commands_test

import (
	"errors"
	"slices"
	"testing"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore/commands"
)

func withoutAddress(names ...processor.Name) *commands.Base {
	b := commands.NewBase(commands.Config{Connected: func(name processor.Name) bool { return !slices.Contains(names, name) }})
	b.Close()
	return b
}

func merchant(rules account.Routing) account.State {
	s := account.State{Routing: rules}
	for _, name := range []processor.Name{processor.Adyen, processor.PayPal, processor.Stripe} {
		s.Processors = append(s.Processors, account.Processor{Name: name, MerchantID: "m", Enabled: name != processor.PayPal})
	}
	return s
}

// TestRoute: a processor without an address is not tried, whether a rule, the default or the
// enumeration names it. Without another one the refusal says so, and not that none is enabled.
func TestRoute(t *testing.T) {
	euros := account.Routing{
		Rules:   []account.Rule{{Name: "euros", When: account.Conditions{Currencies: []domain.Currency{"EUR"}}, Processors: []processor.Name{processor.Stripe, processor.Adyen}}},
		Default: []processor.Name{processor.Stripe},
	}
	for name, c := range map[string]struct {
		rules    account.Routing
		currency domain.Currency
		without  []processor.Name
		want     []processor.Name
	}{
		"all have an address": {euros, "EUR", nil, []processor.Name{processor.Stripe, processor.Adyen}},
		"of a rule":           {euros, "EUR", []processor.Name{processor.Stripe}, []processor.Name{processor.Adyen}},
		"of the default":      {euros, "USD", []processor.Name{processor.Stripe}, nil},
		"of the enumeration":  {account.Routing{}, "USD", []processor.Name{processor.Adyen, processor.PayPal}, []processor.Name{processor.Stripe}},
	} {
		var got []processor.Name
		m, facts := merchant(c.rules), account.RouteFacts{Currency: c.currency}
		b := withoutAddress(c.without...)
		for _, p := range b.Route(m, facts) {
			got = append(got, p.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, expected %v", name, got, c.want)
		}
		none := domain.Refuse(domain.KindConflict, domain.ReasonPayment, "none is enabled")
		none.Err = payment.ErrNoProcessor
		refusal, _ := errors.AsType[*domain.Error](b.NoRoute(m, facts, none))
		if refusal.Message == none.Message || !errors.Is(refusal, payment.ErrNoProcessor) {
			t.Errorf("%s: %+v", name, refusal)
		}
	}
	none := domain.Refuse(domain.KindConflict, domain.ReasonPayment, "none is enabled")
	none.Err = payment.ErrNoProcessor
	if err := withoutAddress().NoRoute(account.State{}, account.RouteFacts{}, none); !errors.Is(err, none) {
		t.Errorf("without an enabled one: %v", err)
	}
}

// TestCheckRouting: a rule may not begin to name a processor without an address. Rules that do so
// already stay as they are, so that others can be changed.
func TestCheckRouting(t *testing.T) {
	b := withoutAddress(processor.Stripe, processor.Worldpay)
	rule := func(names ...processor.Name) account.Routing {
		return account.Routing{Rules: []account.Rule{{Name: "a", Processors: names}}}
	}
	for name, c := range map[string]struct {
		before, after account.Routing
		path          string // "": it is taken
	}{
		"with addresses":     {account.Routing{}, rule(processor.Adyen, processor.PayPal), ""},
		"without one":        {account.Routing{}, rule(processor.Adyen, processor.Stripe), "$.rules[0].processors[1]"},
		"as before":          {rule(processor.Stripe), rule(processor.Adyen, processor.Stripe), ""},
		"another one":        {rule(processor.Stripe), rule(processor.Stripe, processor.Worldpay), "$.rules[0].processors[1]"},
		"in the default":     {account.Routing{}, account.Routing{Default: []processor.Name{processor.Worldpay}}, "$.default[0]"},
		"of no processor":    {account.Routing{}, rule("KLARNA"), ""}, // it is refused as such
		"moved from default": {account.Routing{Default: []processor.Name{processor.Stripe}}, rule(processor.Stripe), ""},
	} {
		err := b.CheckRouting(c.before, c.after)
		refusal, is := errors.AsType[*domain.Error](err)
		if is != (c.path != "") || is && (len(refusal.Violations) != 1 || refusal.Violations[0].Path != c.path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
