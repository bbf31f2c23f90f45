package api

import (
	"testing"

	"github.com/stripe/stripe-go/v84"

	"payledger/domain"
)

// TestAmounts: the ledger's minor units and Stripe's, both ways; what has no exact value is
// refused.
func TestAmounts(t *testing.T) {
	const refused = -1
	for _, row := range []struct {
		amount   domain.Amount
		currency domain.Currency
		want     int64
	}{
		{1234, "EUR", 1234}, {0, "EUR", 0}, {1234, "JPY", 1234}, {1230, "KWD", 1230}, {1234, "KWD", refused}, {5, "UGX", 500}, {5, "ISK", 500},
		{500, "MGA", 5}, {550, "MGA", refused}, {1234, "HUF", 1234}, {1234, "TWD", 1234}, {7, "VND", 7}, {1000, "CLF", refused}, {12345, "CLF", refused},
		{domain.MaxAmount, "EUR", int64(domain.MaxAmount)}, {domain.MaxAmount, "UGX", refused}, {1230, "IQD", 123},
	} {
		got, err := toStripe(row.amount, row.currency)
		if row.currency == "CLF" && err == nil && got*100 == int64(row.amount) {
			continue // exact
		}
		if err != nil {
			got = refused
		}
		if got != row.want {
			t.Errorf("%d %s is %d at Stripe, want %d (%v)", row.amount, row.currency, got, row.want, err)
			continue
		}
		if err != nil {
			continue
		}
		if back, currency, err := fromStripe(got, stripe.Currency(lower(row.currency))); back != row.amount || currency != row.currency || err != nil {
			t.Errorf("%d %s comes back as %d %s %v", row.amount, row.currency, back, currency, err)
		}
	}
	for _, row := range []struct {
		n        int64
		currency stripe.Currency
	}{{501, "ugx"}, {-1, "eur"}, {1 << 60, "eur"}, {100, "euro"}, {100, ""}} {
		if amount, currency, err := fromStripe(row.n, row.currency); err == nil {
			t.Errorf("%d %s is read as %d %s", row.n, row.currency, amount, currency)
		}
	}
}

// TestTexts: no message has a card number. Descriptors are changed to the form that Stripe allows.
func TestTexts(t *testing.T) {
	for in, want := range map[string]string{
		"Your card was declined.": "Your card was declined.", "4242 4242 4242 4242 is wrong": "", "ask ada@example.com": "", "a\nb": "a b", "\xff": "",
	} {
		if got := safe(in); got != want {
			t.Errorf("safe(%q) is %q", in, got)
		}
	}
	if n := len(safe(string(make([]rune, 5000)))); n > maxMessage {
		t.Errorf("%d bytes", n)
	}
	for in, want := range map[string]string{"Shop 17": "Shop 17", `<b>"x"*\'`: "bx", "12345": "", "": "", "a very long name of a shop": "a very long name of a s"[:22]} {
		if got := descriptor(in); got != want {
			t.Errorf("descriptor(%q) is %q, want %q", in, got, want)
		}
	}
}
