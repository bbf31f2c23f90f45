package workflowpages

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/httpapi/dashboard/frame"
)

var (
	quoted     = regexp.MustCompile(`"[^"\n]*"|'[^'\n]*'`)
	comparison = regexp.MustCompile(`\b(?:payment|dispute)\.amount\s*(?:[<>]=?|==|!=)\s*(\d+)\b(?:[^.]|$)|(?:^|[^\w.])(\d+)\s*(?:[<>]=?|==|!=)\s*(?:payment|dispute)\.amount\b`)
	currency   = regexp.MustCompile(`\bcurrency(?:Code)?\s*==\s*["']([A-Z]{3})["']`)
	demanded   = regexp.MustCompile(`^\s*payment\.currencyCode\s*==\s*["']([A-Z]{3})["']\s*$`)
	decimals   = regexp.MustCompile(`\b(\d+)\.(\d{1,2})\b`)
)

// smallAmount returns a warning about a condition that compares an amount with a literal below one
// unit of the currency, such as 50 for 50.00 EUR; "" if there is none. The condition is valid.
func smallAmount(condition string) string {
	of := currencyOf(condition)
	for _, m := range comparison.FindAllStringSubmatch(quoted.ReplaceAllString(condition, `""`), -1) {
		text := m[1] + m[2]
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 || frame.AmountText(domain.Amount(n), of)[0] != '0' {
			continue
		}
		whole, err := frame.ParseAmount(text, of)
		if err != nil {
			continue
		}
		return fmt.Sprintf("%s means %s: amounts are in minor units. Write %d for %s.", text, domain.Amount(n).Format(of), whole, whole.Format(of))
	}
	return ""
}

// currencyOf returns the currency that a condition compares with, and EUR if it names none.
func currencyOf(condition string) domain.Currency {
	if m := currency.FindStringSubmatch(condition); m != nil && domain.Currency(m[1]).Known() {
		return domain.Currency(m[1])
	}
	return "EUR"
}

// unitOf returns the currency that a condition demands of every payment, and with it the form in
// which people type and read amounts; "" if it demands none: then they are in minor units.
func unitOf(condition string) domain.Currency {
	condition = quoted.ReplaceAllStringFunc(condition, func(text string) string {
		if domain.Currency(strings.Trim(text, `"'`)).Known() {
			return text
		}
		return `""`
	})
	if strings.ContainsAny(condition, "|?") || strings.Contains(condition, "//") {
		return ""
	}
	depth := 0 // of brackets: within them the comparison may be negated
	for _, part := range strings.Split(condition, "&&") {
		if m := demanded.FindStringSubmatch(part); m != nil && depth == 0 && domain.Currency(m[1]).Known() {
			return domain.Currency(m[1])
		}
		for _, c := range part {
			depth += strings.Count("([{", string(c)) - strings.Count(")]}", string(c))
		}
	}
	return ""
}

// inUnit writes an amount of an action as people type it.
func inUnit(amount int64, unit domain.Currency) string {
	if unit == "" {
		return strconv.FormatInt(amount, 10)
	}
	return frame.AmountText(domain.Amount(amount), unit)
}

// typedIn reads an amount of an action. The error is for the person who typed it.
func typedIn(text string, unit domain.Currency) (int64, error) {
	if unit == "" {
		minor, good := frame.WholeNumber(text)
		if !good || minor < 1 {
			return 0, errors.New("Write a whole number of minor units, as in 1050 for 10.50 EUR.") //nolint:staticcheck,revive // a sentence for people
		}
		return int64(minor), nil
	}
	amount, err := frame.ParseAmount(text, unit)
	if err == nil && amount < 1 {
		err = errors.New("Write an amount above 0.") //nolint:staticcheck,revive // a sentence for people
	}
	return int64(amount), err
}

// unitField is the field with the unit that the labels of the amounts named.
const unitField = "amountUnit"

// convert writes the amounts of a form, which were typed in the unit that its page named, in the
// unit of its condition. An amount that does not fit the former unit stays as it is. convert
// reports whether an amount has another unit now: the person may have typed it in either.
func convert(values url.Values) (changed bool) {
	from, to := domain.Currency(values.Get(unitField)), unitOf(values.Get("condition"))
	values.Set(unitField, string(to))
	if from == to || from != "" && !from.Known() {
		return false
	}
	lines := linesOf(values)
	for _, l := range lines {
		changed = changed || l.At("amount") != ""
		if amount, err := typedIn(l.At("amount"), from); err == nil {
			l.values["amount"] = inUnit(amount, to)
		}
	}
	put(values, lines)
	return changed
}

// minorUnits returns advice about a number with decimals in a condition: "Amounts are whole numbers
// of minor units: write 5000 for 50.00 EUR."
func minorUnits(condition string) string {
	of, amount := currencyOf(condition), domain.Amount(5000)
	if m := decimals.FindString(quoted.ReplaceAllString(condition, `""`)); m != "" {
		if typed, err := frame.ParseAmount(m, of); err == nil {
			amount = typed
		}
	}
	return fmt.Sprintf("Amounts are whole numbers of minor units: write %d for %s.", amount, amount.Format(of))
}
