package frame_test

import (
	"strings"
	"testing"

	"payledger/domain"
	"payledger/httpapi/dashboard/frame"
)

// TestParseAmount: an amount that could be read in two ways is refused, with an example in its
// currency.
func TestParseAmount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text     string
		currency domain.Currency
		want     domain.Amount
	}{
		{"12.50", "EUR", 1250}, {" 12.5 ", "EUR", 1250}, {"12", "EUR", 1200}, {"0", "EUR", 0}, {"1,250.00", "EUR", 125000}, {"1,500", "EUR", 150000},
		{"1,500", "JPY", 1500}, {"1500", "JPY", 1500}, {"1,234,567", "JPY", 1234567}, {"1.5", "TND", 1500}, {"1.500", "TND", 1500},
		{"1500", "TND", 1500000}, {"1,500.000", "TND", 1500000}, {"1,500.5", "KWD", 1500500}, {"1,500,000", "KWD", 1500000000}, {"1.5000", "CLF", 15000},
		{"90071992547409.91", "EUR", domain.MaxAmount},
		{"€12.50", "EUR", 1250}, {"12.50 €", "EUR", 1250}, {"EUR 12.50", "EUR", 1250}, {"12.50eur", "EUR", 1250}, {" € 1,250.00 ", "EUR", 125000}, {"¥1,050", "JPY", 1050},
		{"KWD\u00a01.500", "KWD", 1500}, {"12 CHF", "CHF", 1200}, {"$3", "USD", 300},
	} {
		if got, err := frame.ParseAmount(c.text, c.currency); err != nil || got != c.want {
			t.Errorf("%q %s is %d, %v; want %d", c.text, c.currency, got, err, c.want)
		}
	}
	const other = "" // refused, but not because of two readings
	for _, c := range []struct {
		text     string
		currency domain.Currency
		readings string
	}{
		{"1,500", "TND", "1.500 or as 1500.000"}, {"12,345", "BHD", "12.345 or as 12345.000"}, {"1,500", "CLF", "1.5000 or as 1500.0000"},
		{"0,100", "KWD", other}, {"0,250", "BHD", other}, {"0,500", "EUR", other}, {"0,500.00", "EUR", other}, {"00,500", "JPY", other},
		{"1,50", "EUR", other}, {"1,5", "JPY", other}, {"1.500", "EUR", other}, {"1.500", "JPY", other}, {"1.5000", "TND", other}, {"1.500,00", "EUR", other},
		{"1.500,000", "TND", other}, {"1,500,00", "EUR", other}, {"1 500", "TND", other}, {"1'500", "TND", other}, {"1\u00a0500", "EUR", other}, {"1،500", "KWD", other},
		{"1٫500", "KWD", other}, {"１５", "EUR", other}, {"+5", "EUR", other}, {"-5", "EUR", other}, {"1e3", "EUR", other}, {"0x10", "JPY", other}, {"1_000", "JPY", other},
		{"5.", "EUR", other}, {".5", "EUR", other}, {"", "EUR", other}, {"$5", "EUR", other}, {"5 USD", "EUR", other}, {"€", "EUR", other}, {"€€5", "EUR", other}, {"€5 EUR", "EUR", other}, {"€12,50", "EUR", other}, {"12,50 EUR", "EUR", other}, {"¥5", "KWD", other}, {",500", "TND", other}, {"1,,500", "EUR", other},
	} {
		got, err := frame.ParseAmount(c.text, c.currency)
		if err == nil {
			t.Errorf("%q %s is %d", c.text, c.currency, got)
			continue
		}
		example := map[int]string{0: "as in 12.", 2: "as in 12.05.", 3: "as in 12.005.", 4: "as in 12.0005."}[c.currency.Digits()]
		if strings.Contains(c.text, ",") != strings.Contains(err.Error(), "A point stands before the decimals") {
			t.Errorf("%q %s: %s", c.text, c.currency, err)
		}
		if !strings.Contains(err.Error(), "Write the amount in "+string(c.currency)+", "+example) || !strings.Contains(err.Error(), c.readings) {
			t.Errorf("%q %s: %s", c.text, c.currency, err)
		}
	}
	if _, err := frame.ParseAmount("90071992547409.92", "EUR"); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("more than the largest amount: %v", err)
	}
}

// TestParseLimit: a limit of amounts in several currencies has two decimals, because a whole number
// could be one of yen.
func TestParseLimit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]domain.Amount{"10.50": 1050, "10.5": 1050, "1,500.00": 150000, "0": 0} {
		if got, err := frame.ParseLimit(text, "EUR"); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for text, example := range map[string]string{"1500": "1500.00 for 150,000 minor units", "1,500": "1.500 or as 1500.00", "1.500": "12.05", "0,500": "12.05"} {
		if got, err := frame.ParseLimit(text, "EUR"); err == nil || !strings.Contains(err.Error(), example) {
			t.Errorf("%q is %d, %v; want an example with %s", text, got, err, example)
		}
	}
}

// TestAmountText: what a form proposes is read as the same amount, in every currency.
func TestAmountText(t *testing.T) {
	t.Parallel()
	for _, c := range []domain.Currency{"EUR", "JPY", "TND", "CLF", "XAU"} {
		for _, a := range []domain.Amount{0, 1, 100, 999, 1000, 1500, 123456, 1500000, domain.MaxAmount} {
			if got, err := frame.ParseAmount(frame.AmountText(a, c), c); err != nil || got != a {
				t.Errorf("%s %s is read as %d, %v", frame.AmountText(a, c), c, got, err)
			}
			if got, err := frame.ParseAmount(strings.Trim(frame.Money(a, c), "€¥\u00a0ABCDEFGHIJKLMNOPQRSTUVWXYZ"), c); err != nil && !strings.Contains(err.Error(), "two ways") || err == nil && got != a {
				t.Errorf("%s is read as %d, %v", frame.Money(a, c), got, err)
			}
		}
	}
}
