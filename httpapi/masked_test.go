package httpapi

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"payledger/domain/seedtest"
)

// TestMasked: wherever characters are put into a card number, no digit of it reaches a log line.
func TestMasked(t *testing.T) {
	seedtest.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString(rapid.SampledFrom([]string{"", "a", "order ", "(", "0."}).Draw(t, "before"))
		for i, digit := range "4111111111111111" {
			if i > 0 {
				b.WriteString(rapid.SampledFrom([]string{"", "", " ", "-", " - "}).Draw(t, "divider"))
			}
			b.WriteRune(digit)
		}
		if got := masked(b.String() + "x"); strings.ContainsAny(got, "14") {
			t.Fatalf("%q is logged as %q", b.String(), got)
		}
	})
	for text, want := range map[string]string{
		"４１１１/１１１１/１１１１/１１１１":            "####/####/####/####",
		"payment 17 of 4111111111111112": "payment 17 of 4111111111111112",
	} {
		if got := masked(text); got != want {
			t.Errorf("%q is logged as %q", text, got)
		}
	}
}
