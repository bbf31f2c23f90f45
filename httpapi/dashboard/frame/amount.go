package frame

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"payledger/domain"
)

// ParseAmount reads an amount that a person typed, in the currency's own units: "12.50" or
// "1,250.00". The point separates the decimals, as on every page; commas may group the digits
// before it, and the currency's code or sign may stand at either end. An amount that could be read
// in two ways, such as "1,500" of a currency with three decimals, is refused. The error is for that
// person, and has an example in the currency.
func ParseAmount(text string, c domain.Currency) (domain.Amount, error) {
	return parseAmount(bare(text, c), c, c.Digits())
}

// bare removes the currency's code or sign before or behind an amount: "€12.50", "12.50 EUR".
func bare(text string, c domain.Currency) string {
	text = strings.TrimSpace(text)
	sign := strings.Trim(Money(0, c), "0.\u00a0 ")
	for _, mark := range []string{string(c), sign} {
		switch n := len(text) - len(mark); {
		case mark == "" || n <= 0:
		case strings.EqualFold(text[:len(mark)], mark):
			return strings.TrimSpace(text[len(mark):])
		case strings.EqualFold(text[n:], mark):
			return strings.TrimSpace(text[:n])
		}
	}
	return text
}

// ParseLimit reads a limit of amounts in several currencies, or in any: with the two decimals of
// unit. Some of the currencies may have other decimals, so that a number without decimals, other
// than 0, could be read in two ways.
func ParseLimit(text string, unit domain.Currency) (domain.Amount, error) {
	text = strings.TrimSpace(text)
	amount, err := parseAmount(text, unit, mostDigits)
	if err == nil && amount != 0 && !strings.Contains(text, ".") {
		return 0, fmt.Errorf("%s could be read in two ways, because the currencies have different decimals. Write two decimals, as in %s for %s minor units.", //nolint:staticcheck,revive // a sentence for people
			text, AmountText(amount, unit), Number(int64(amount)))
	}
	return amount, err
}

// mostDigits is the greatest number of decimals of a currency.
const mostDigits = 4

// parseAmount reads an amount of c. decimals is the greatest number of decimals that the person may
// have in mind.
func parseAmount(text string, c domain.Currency, decimals int) (domain.Amount, error) {
	digits := c.Digits()
	bad := fmt.Errorf("Write the amount in %s, as in %s.", c, example(c)) //nolint:staticcheck,revive // a sentence for people
	if strings.Contains(text, ",") {
		bad = fmt.Errorf("%w A point stands before the decimals, and commas may group the digits before it.", bad) //nolint:staticcheck,revive // likewise
	}
	whole, fraction, dot := strings.Cut(text, ".")
	joined, grouped := ungrouped(whole)
	if !plain(joined) || dot && (!plain(fraction) || len(fraction) > digits) {
		return 0, bad
	}
	if grouped && !dot && strings.Count(whole, ",") == 1 && decimals >= groupDigits {
		asDecimals := strings.Replace(whole, ",", ".", 1) + strings.Repeat("0", max(0, digits-groupDigits))
		asGroup := joined + "." + strings.Repeat("0", digits)
		return 0, fmt.Errorf("%s could be read in two ways: as %s or as %s. %w", text, asDecimals, asGroup, bad)
	}
	n, fits := new(big.Int).SetString(joined+fraction+strings.Repeat("0", digits-len(fraction)), 10)
	if !fits || !n.IsInt64() || n.Int64() > int64(domain.MaxAmount) {
		return 0, fmt.Errorf("The amount is too large. The largest one is %s.", AmountText(domain.MaxAmount, c)) //nolint:staticcheck,revive // a sentence for people
	}
	return domain.Amount(n.Int64()), nil
}

// example returns an amount of the currency as people type it, with all its decimals: "12.05",
// "12", "12.005".
func example(c domain.Currency) string {
	if digits := c.Digits(); digits > 0 {
		return "12." + strings.Repeat("0", digits-1) + "5"
	}
	return "12"
}

// groupDigits is the number of digits of a group, and of the decimals with which a group can be
// confused.
const groupDigits = 3

// ungrouped removes the commas between groups of three digits. Any other comma may separate
// decimals: that of "1,50", and that of "0,500", because no grouped number begins with 0. It stays,
// and plain refuses it.
func ungrouped(whole string) (joined string, grouped bool) {
	groups := strings.Split(whole, ",")
	if len(groups) == 1 {
		return whole, false
	}
	for i, group := range groups {
		if i > 0 && len(group) != groupDigits || i == 0 && (group == "" || len(group) > groupDigits || group[0] == '0') {
			return whole, false
		}
	}
	return strings.Join(groups, ""), true
}

// plain reports whether a text has digits and nothing else.
func plain(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// WholeNumber reads a number of minor units that a person typed: digits and nothing else.
func WholeNumber(text string) (domain.Amount, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return domain.Amount(n), err == nil && plain(text) && domain.Amount(n) <= domain.MaxAmount
}

// AmountText writes an amount as ParseAmount reads it: "1250.00".
func AmountText(a domain.Amount, c domain.Currency) string {
	return strings.TrimSuffix(a.Format(c), " "+string(c))
}
