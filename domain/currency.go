package domain

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
)

//go:embed iso4217.csv
var iso4217 string

// Currency is an ISO 4217 alphabetic code, fund and precious-metal codes included (§2.1).
type Currency string

// minorUnits maps every active code to its number of decimal digits; noMinorUnits: ISO 4217 gives
// none (XAU, XDR).
var minorUnits = loadCurrencies(iso4217)

const noMinorUnits = -1

func loadCurrencies(table string) map[Currency]int {
	units := make(map[Currency]int)
	for i, line := range strings.Split(strings.TrimSpace(table), "\n") {
		if i == 0 {
			continue // the heading
		}
		code, digits, _ := strings.Cut(strings.TrimSpace(line), ",")
		units[Currency(code)] = noMinorUnits
		if digits != "" {
			n, err := strconv.Atoi(digits)
			if err != nil {
				panic(fmt.Sprintf("iso4217.csv line %d: %v", i+1, err))
			}
			units[Currency(code)] = n
		}
	}
	return units
}

// Known reports whether c is an active code. Case matters: "eur" is not a currency.
func (c Currency) Known() bool { _, ok := minorUnits[c]; return ok }

// Digits is the number of decimal digits of the currency's minor unit: 0 for yen, and where ISO
// 4217 gives none.
func (c Currency) Digits() int { return max(0, minorUnits[c]) }

// Amount is a number of minor units (cents, yen, fils) of some currency. Requests carry 0 or more
// (§8).
type Amount int64

// MaxAmount is the largest amount of a request: the largest integer that every JSON reader keeps
// exactly.
const MaxAmount Amount = 1<<53 - 1

// Add returns a+b, and false when the sum does not fit.
func (a Amount) Add(b Amount) (Amount, bool) {
	sum := a + b
	return sum, (sum >= a) == (b >= 0)
}

// Times returns a×n, and false when the product does not fit.
func (a Amount) Times(n int64) (Amount, bool) {
	if a == 0 || n == 0 {
		return 0, true
	}
	if (a == -1 && n == math.MinInt64) || (n == -1 && int64(a) == math.MinInt64) {
		return 0, false
	}
	product := a * Amount(n)
	return product, product/Amount(n) == a
}

// Price is an amount in its currency.
type Price struct {
	Amount   Amount   `json:"amount"`       // minor units of the currency
	Currency Currency `json:"currencyCode"` // ISO 4217
}

// Format writes the amount for people, "12.50 EUR", "1250 JPY", "3 XAU".
func (a Amount) Format(c Currency) string {
	digits := minorUnits[c]
	if digits <= 0 {
		return strconv.FormatInt(int64(a), 10) + " " + string(c)
	}
	sign, magnitude := "", uint64(a)
	if a < 0 {
		sign, magnitude = "-", uint64(-a)
	}
	unit := uint64(math.Pow10(digits))
	return fmt.Sprintf("%s%d.%0*d %s", sign, magnitude/unit, digits, magnitude%unit, c)
}
