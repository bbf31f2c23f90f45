package api

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stripe/stripe-go/v84"

	"payledger/domain"
)

// Stripe's units where they are not ISO 4217's.
var (
	// wholeUnits are the currencies whose amounts Stripe counts in whole units.
	wholeUnits = strings.Fields("BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF")
	// thousandths are the currencies whose amounts Stripe counts in thousandths; the last digit
	// must be 0.
	thousandths = strings.Fields("BHD JOD KWD OMR TND")
)

// stripeDigits returns the number of decimals in which Stripe counts a currency. UGX and ISK have
// no decimals and are counted in hundredths all the same.
func stripeDigits(c domain.Currency) int {
	switch {
	case slices.Contains(wholeUnits, string(c)):
		return 0
	case slices.Contains(thousandths, string(c)):
		return 3
	}
	return 2
}

// unitOf returns the smallest amount of a currency, in Stripe's units.
func unitOf(c domain.Currency) int64 {
	switch ours, theirs := c.Digits(), stripeDigits(c); {
	case theirs == 3:
		return 10
	case theirs > ours:
		return 100
	}
	return 1
}

// toStripe returns an amount in Stripe's units. An amount that Stripe would round is refused.
func toStripe(amount domain.Amount, c domain.Currency) (int64, error) {
	ours, theirs := c.Digits(), stripeDigits(c)
	n := int64(amount)
	for ; ours < theirs; ours++ {
		if n > int64(domain.MaxAmount)/10 {
			return 0, refuse(codeInvalidAmount, "the amount is too large for Stripe")
		}
		n *= 10
	}
	for ; ours > theirs; ours-- {
		if n%10 != 0 {
			return 0, refuse(codeInvalidAmount, fmt.Sprintf("Stripe counts %s in %d decimals: the amount has more", c, theirs))
		}
		n /= 10
	}
	if theirs == 3 && n%10 != 0 {
		return 0, refuse(codeInvalidAmount, fmt.Sprintf("the last digit of an amount of %s must be 0 at Stripe", c))
	}
	return n, nil
}

// fromStripe returns an amount in the ledger's units. An amount without an exact value there is an
// error: the outcome stays unknown.
func fromStripe(n int64, currency stripe.Currency) (domain.Amount, domain.Currency, error) {
	c := domain.Currency(strings.ToUpper(string(currency)))
	if !c.Known() || n < 0 || n > int64(domain.MaxAmount) {
		return 0, "", fmt.Errorf("Stripe's amount %d %q cannot be read", n, currency)
	}
	ours, theirs := c.Digits(), stripeDigits(c)
	for ; theirs < ours; theirs++ {
		n *= 10
	}
	for ; theirs > ours; theirs-- {
		if n%10 != 0 {
			return 0, "", fmt.Errorf("Stripe's amount %d %s is no whole number of units", n, c)
		}
		n /= 10
	}
	return domain.Amount(n), c, nil
}
