package domain_test

import (
	"math"
	"math/big"
	"os"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/seedtest"
)

// TestCurrencies: the list of ISO 4217 is whole, fund and precious-metal codes included (§2.1).
func TestCurrencies(t *testing.T) {
	text, err := os.ReadFile("iso4217.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
	if len(lines) != 178 {
		t.Errorf("%d codes, not 178", len(lines))
	}
	row := regexp.MustCompile(`^([A-Z]{3}),([0-4]?)$`)
	last := ""
	for _, line := range lines {
		m := row.FindStringSubmatch(strings.TrimSpace(line))
		switch {
		case m == nil:
			t.Errorf("%q is no code with its minor units", line)
		case m[1] <= last:
			t.Errorf("%s is listed after %s", m[1], last)
		case !domain.Currency(m[1]).Known():
			t.Errorf("%s is not known", m[1])
		}
		if m != nil {
			last = m[1]
		}
	}
	for _, c := range []domain.Currency{"", "eur", "EU", "EURO", "DEM", "HRK", "alphabetic_code", "XXZ"} {
		if c.Known() {
			t.Errorf("%q is known", c)
		}
	}
}

func TestFormat(t *testing.T) {
	rows := []struct {
		amount   domain.Amount
		currency domain.Currency
		want     string
	}{
		{1250, "EUR", "12.50 EUR"},
		{5, "USD", "0.05 USD"},
		{0, "GBP", "0.00 GBP"},
		{-1250, "EUR", "-12.50 EUR"},
		{1250, "JPY", "1250 JPY"},
		{1250, "KWD", "1.250 KWD"},
		{1250, "TND", "1.250 TND"},
		{12345, "CLF", "1.2345 CLF"},
		{12345, "UYW", "1.2345 UYW"},
		{3, "XAU", "3 XAU"},
		{3, "XDR", "3 XDR"},
		{domain.MaxAmount, "EUR", "90071992547409.91 EUR"},
		{math.MinInt64, "EUR", "-92233720368547758.08 EUR"},
	}
	for _, row := range rows {
		if got := row.amount.Format(row.currency); got != row.want {
			t.Errorf("%d %s is written %q, not %q", row.amount, row.currency, got, row.want)
		}
	}
}

// anyInt64 finds the corners more often than a plain generator.
func anyInt64() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64(),
		rapid.Int64Range(-3, 3),
		rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64, math.MaxInt64 - 1, 1 << 32, -1 << 31, 1<<53 - 1}),
	)
}

// TestAmountArithmetic: Add and Times are the true sum and product, or say that these do not fit.
func TestAmountArithmetic(t *testing.T) {
	seedtest.Check(t, func(t *rapid.T) {
		a, b := anyInt64().Draw(t, "a"), anyInt64().Draw(t, "b")
		x, y := big.NewInt(a), big.NewInt(b)

		sum, ok := domain.Amount(a).Add(domain.Amount(b))
		agree(t, "sum", new(big.Int).Add(x, y), sum, ok)

		product, ok := domain.Amount(a).Times(b)
		agree(t, "product", new(big.Int).Mul(x, y), product, ok)
	})
}

func agree(t *rapid.T, what string, want *big.Int, got domain.Amount, ok bool) {
	t.Helper()
	if ok != want.IsInt64() {
		t.Fatalf("%s %v: fits is %v", what, want, ok)
	}
	if ok && want.Int64() != int64(got) {
		t.Fatalf("%s is %d, not %v", what, got, want)
	}
}
