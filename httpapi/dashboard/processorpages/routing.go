package processorpages

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/httpapi/dashboard/frame"
)

type routing struct {
	Rules   []account.Rule   `json:"rules"`
	Default []processor.Name `json:"default"`
}

func readRouting(v *frame.Visit) (routing, error) {
	var r routing
	err := v.Get(apiRouting, nil, &r)
	for i := range r.Rules {
		for key, value := range r.Rules[i].When.Metadata {
			if number, is := value.(float64); is { // JSON's numbers; here they are integers
				r.Rules[i].When.Metadata[key] = int64(number)
			}
		}
	}
	return r, err
}

// mark identifies the rules: equal rules have equal marks.
func (r routing) mark() string { return frame.Mark(r) }

func (r routing) clone() routing {
	return routing{slices.Clone(r.Rules), slices.Clone(r.Default)}
}

// place returns the index of a rule in a form or an address, as people count: from 1; false if
// there is no such rule.
func (r routing) place(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n - 1, err == nil && n >= 1 && n <= len(r.Rules)
}

// outdated reports whether a page with other rules showed the form. Then it refuses the form, with
// advice.
func (r routing) outdated(form *frame.Form, advice string) bool {
	if !form.Outdated(r.mark(), "The routing rules have") {
		return false
	}
	form.Refusal.Advice = advice
	return true
}

// change saves changed rules. It returns the name of the notice; "": the rules are the changed ones
// already.
func change(v *frame.Visit, before, after routing) (done string, err error) {
	if after.mark() == before.mark() {
		return "", nil
	}
	return "saved", v.Send(http.MethodPut, apiRouting, after, "", nil)
}

type condition struct{ Name, Text string }

func conditionsOf(c account.Conditions) (all []condition) {
	add := func(name, text string) { all = append(all, condition{name, text}) }
	if len(c.Currencies) > 0 {
		add("Currency", joined(c.Currencies, " or "))
	}
	if len(c.Networks) > 0 {
		add("Card network", joined(c.Networks, " or "))
	}
	if len(c.Countries) > 0 {
		add("Country of the order", joined(c.Countries, " or "))
	}
	if c.MinAmount != nil {
		add("Amount at least", amountText(*c.MinAmount, c.Currencies))
	}
	if c.MaxAmount != nil {
		add("Amount at most", amountText(*c.MaxAmount, c.Currencies))
	}
	for _, key := range slices.Sorted(maps.Keys(c.Metadata)) {
		add("Metadata "+key, valueText(c.Metadata[key]))
	}
	return all
}

func joined[T ~string](list []T, between string) string {
	texts := make([]string, len(list))
	for i, one := range list {
		texts[i] = string(one)
	}
	return strings.Join(texts, between)
}

// unitOf returns the currency in whose unit people read and write the limits of a rule: one of the
// rule's if all of them share the same digits, else one with two digits. The API has limits in
// minor units, which are the same number in every currency.
func unitOf(currencies []domain.Currency) (unit domain.Currency, shared bool) {
	for i, c := range currencies {
		if !c.Known() || c.Digits() != currencies[0].Digits() {
			break
		}
		if i == len(currencies)-1 {
			return currencies[0], true
		}
	}
	return twoDigits, false
}

const twoDigits domain.Currency = "EUR"

// amountText writes a limit: with its currency if there is one, else as people type it and in minor
// units.
func amountText(a domain.Amount, currencies []domain.Currency) string {
	if len(currencies) == 1 {
		return frame.Money(a, currencies[0])
	}
	return limitText(a, currencies) + " (" + frame.Number(int64(a)) + " minor units)"
}

// limitText writes a limit as parseLimit reads it.
func limitText(a domain.Amount, currencies []domain.Currency) string {
	unit, _ := unitOf(currencies)
	return frame.AmountText(a, unit)
}

func parseLimit(text string, currencies []domain.Currency) (domain.Amount, error) {
	if unit, shared := unitOf(currencies); !shared {
		return frame.ParseLimit(text, unit)
	}
	return frame.ParseAmount(text, currencies[0])
}

func valueText(value any) string {
	text, is := value.(string)
	if !is {
		return fmt.Sprint(value)
	}
	if again, err := parseValue(text); err == nil && again == value && text == strings.TrimSpace(text) {
		return text
	}
	return strconv.Quote(text)
}

func metadataText(m domain.Metadata) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s = %s\n", key, valueText(m[key]))
	}
	return b.String()
}

// parseMetadata reads lines such as "tier = 2". The error is for people.
func parseMetadata(text string) (domain.Metadata, error) {
	var m domain.Metadata
	for n, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, rest, found := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); !found || key == "" {
			return nil, fmt.Errorf("Line %d: write a key, =, and its value, as in shop = north.", n+1) //nolint:staticcheck,revive // a sentence for people
		}
		value, err := parseValue(strings.TrimSpace(rest))
		if err != nil {
			return nil, fmt.Errorf("Line %d: the quotes do not match.", n+1) //nolint:staticcheck,revive // a sentence for people
		}
		if _, twice := m[key]; twice {
			return nil, fmt.Errorf("Line %d: %s is there twice.", n+1, key) //nolint:staticcheck,revive // a sentence for people
		}
		if m == nil {
			m = domain.Metadata{}
		}
		m[key] = value
	}
	return m, nil
}

// parseValue reads true, false, an integer, a text in quotes, or any other text.
func parseValue(text string) (any, error) {
	switch {
	case text == "true" || text == "false":
		return text == "true", nil
	case strings.HasPrefix(text, `"`):
		return strconv.Unquote(text) //nolint:wrapcheck // the caller names the line
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(n, 10) == text {
		return n, nil
	}
	return text, nil
}

func codes[T ~string](text string) []T {
	var list []T
	for _, one := range strings.FieldsFunc(strings.ToUpper(text), func(r rune) bool { return r == ',' || r == ' ' || r == ';' || r == '\n' || r == '\r' }) {
		list = append(list, T(one))
	}
	return list
}
