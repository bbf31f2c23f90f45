package api

import "payledger/domain"

// digits lists the currencies that Adyen counts with other decimals than ISO 4217 does.
var digits = map[domain.Currency]int{"CLP": 2, "CVE": 0, "IDR": 0, "ISK": 2}

// amount is an amount in Adyen's units.
type amount struct {
	Currency domain.Currency `json:"currency"`
	Value    domain.Amount   `json:"value"`
}

func factor(from, to int) domain.Amount {
	f := domain.Amount(1)
	for range to - from {
		f *= 10
	}
	return f
}

// toAdyen returns an amount in Adyen's units; false if it is no whole number of them, or too large.
func toAdyen(a domain.Amount, c domain.Currency) (amount, bool) {
	theirs, differs := digits[c]
	if !differs {
		return amount{c, a}, true
	}
	up, down := factor(c.Digits(), theirs), factor(theirs, c.Digits())
	return amount{c, a / down * up}, a%down == 0 && a/down <= domain.MaxAmount/up
}

// fromAdyen returns an amount in units of ISO 4217; -1, which fits no request, if it is no whole
// number of them.
func fromAdyen(a amount) domain.Amount {
	theirs, differs := digits[a.Currency]
	if !differs {
		return a.Value
	}
	up, down := factor(theirs, a.Currency.Digits()), factor(a.Currency.Digits(), theirs)
	if a.Value%down != 0 || a.Value/down > domain.MaxAmount/up {
		return -1
	}
	return a.Value / down * up
}
