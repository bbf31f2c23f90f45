package account

import (
	"maps"
	"slices"

	"payledger/domain"
	"payledger/domain/processor"
)

// Routing determines the processors of a payment and their order (D15).
type Routing struct {
	Rules   []Rule           `json:"rules,omitempty"`   // the first that matches decides
	Default []processor.Name `json:"default,omitempty"` // without a match; empty: all enabled, in the order of the enumeration
}

// Rule routes the payments for which its conditions hold to processors, in the order of the list.
type Rule struct {
	Name       string           `json:"name"`       // the merchant's own name for the rule
	When       Conditions       `json:"when"`       // selects payments
	Processors []processor.Name `json:"processors"` // to try, in order
}

// Conditions of a rule must all hold; an absent condition always holds. Amounts are minor units of
// the payment's currency, both limits included.
type Conditions struct {
	Currencies []domain.Currency `json:"currencyCode,omitempty"` // one of these, ISO 4217
	Networks   []domain.Network  `json:"network,omitempty"`      // the card's network is one of these
	Countries  []string          `json:"countryCode,omitempty"`  // of the order
	MinAmount  *domain.Amount    `json:"minAmount,omitempty"`    // smallest amount, minor units
	MaxAmount  *domain.Amount    `json:"maxAmount,omitempty"`    // largest amount, minor units
	Metadata   domain.Metadata   `json:"metadata,omitempty"`     // each key has this value in the payment's metadata
}

// RouteFacts are the data of a payment that rules read.
type RouteFacts struct {
	Currency    domain.Currency
	Network     domain.Network
	Amount      domain.Amount
	CountryCode string // of the order; "" if absent
	Metadata    domain.Metadata
}

// Route returns the enabled merchant accounts for a payment in order (D15): of the first rule that
// matches, else the default, else all.
func (s State) Route(f RouteFacts) []Processor {
	if list, decides := s.Routing.ListFor(f); decides {
		return s.enabled(list.Processors)
	}
	return s.EnabledProcessors()
}

// Match returns the index of the first rule that matches a payment; -1 if none does.
func (r Routing) Match(f RouteFacts) int {
	return slices.IndexFunc(r.Rules, func(rule Rule) bool { return rule.When.Fails(f) == "" })
}

func (s State) enabled(names []processor.Name) []Processor {
	var route []Processor
	for _, name := range names {
		if p, known := s.Processor(name); known && p.Enabled {
			route = append(route, p)
		}
	}
	return route
}

// Fails returns the name of a condition that does not hold for a payment; "" if all hold.
func (c Conditions) Fails(f RouteFacts) string {
	switch {
	case len(c.Currencies) > 0 && !slices.Contains(c.Currencies, f.Currency):
		return "currencyCode"
	case len(c.Networks) > 0 && !slices.Contains(c.Networks, f.Network):
		return "network"
	case len(c.Countries) > 0 && !slices.Contains(c.Countries, f.CountryCode):
		return "countryCode"
	case c.MinAmount != nil && f.Amount < *c.MinAmount:
		return "minAmount"
	case c.MaxAmount != nil && f.Amount > *c.MaxAmount:
		return "maxAmount"
	}
	for key, value := range c.Metadata {
		if f.Metadata[key] != value {
			return "metadata"
		}
	}
	return ""
}

func (r Routing) equal(o Routing) bool {
	return slices.EqualFunc(r.Rules, o.Rules, Rule.equal) && slices.Equal(r.Default, o.Default)
}

func (r Rule) equal(o Rule) bool {
	a, b := r.When, o.When
	return r.Name == o.Name && slices.Equal(r.Processors, o.Processors) && slices.Equal(a.Currencies, b.Currencies) &&
		slices.Equal(a.Networks, b.Networks) && slices.Equal(a.Countries, b.Countries) &&
		same(a.MinAmount, b.MinAmount) && same(a.MaxAmount, b.MaxAmount) && maps.Equal(a.Metadata, b.Metadata)
}

func same(a, b *domain.Amount) bool { return a == b || a != nil && b != nil && *a == *b }

// ChangeRouting is the command to replace all rules.
type ChangeRouting RoutingChanged

// DecideChangeRouting replaces the rules; the event is nil if nothing differs.
func DecideChangeRouting(s State, c ChangeRouting) (Event, error) {
	if found := c.Routing.Violations(); len(found) > 0 {
		return nil, domain.Invalid("RoutingRequest", found...)
	}
	if c.Routing.equal(s.Routing) {
		return nil, nil
	}
	return RoutingChanged(c), nil
}
