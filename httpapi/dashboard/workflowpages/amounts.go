package workflowpages

import (
	"fmt"
	"regexp"
	"strconv"

	"payledger/domain"
	"payledger/httpapi/dashboard/frame"
)

var (
	quoted     = regexp.MustCompile(`"[^"\n]*"|'[^'\n]*'`)
	comparison = regexp.MustCompile(`\b(?:payment|dispute)\.amount\s*(?:[<>]=?|==|!=)\s*(\d+)\b(?:[^.]|$)|(?:^|[^\w.])(\d+)\s*(?:[<>]=?|==|!=)\s*(?:payment|dispute)\.amount\b`)
	currency   = regexp.MustCompile(`\bcurrency(?:Code)?\s*==\s*["']([A-Z]{3})["']`)
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
