package domain_test

import (
	"strings"
	"testing"

	"payledger/domain"
)

// holdsByWindows is D1 once more, the slow and plain way: cut the text into stretches of digits, spaces and
// dashes, take every run of digits in a stretch that ends where its neighbours do, and look at it.
func holdsByWindows(text string) bool {
	stretches := strings.FieldsFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789 -", r) })
	for _, stretch := range stretches {
		for from := range stretch {
			for to := from + 1; to <= len(stretch); to++ {
				inside := from > 0 && isDigit(stretch[from-1]) || to < len(stretch) && isDigit(stretch[to])
				if !inside && domain.ValidCardNumber(strings.NewReplacer(" ", "", "-", "").Replace(stretch[from:to])) {
					return true
				}
			}
		}
	}
	return false
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// FuzzHoldsCardNumber: whatever the text, the detection agrees with the plain one, and what stands beside a
// card number does not hide it.
func FuzzHoldsCardNumber(f *testing.F) {
	for _, seed := range []string{
		"", "4111111111111111", "order 12 4111 1111-1111 1111", "1700000000000", "378282246310005 30569309025904",
		"41111111111111110000", "4111.1111.1111.1111", "\xff4111111111111111\xfe", "٤١١١", "- -4111111111111111- -",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 300 {
			text = text[:300]
		}
		if got, want := domain.HoldsCardNumber(text), holdsByWindows(text); got != want {
			t.Fatalf("%q gives %v, looked through plainly %v", text, got, want)
		}
		for _, between := range []string{" ", "-", ".", "\n", "x"} {
			if !domain.HoldsCardNumber(text+between+"4111111111111111") || !domain.HoldsCardNumber("4111111111111111"+between+text) {
				t.Fatalf("%q hides the card number beside it", text)
			}
		}
	})
}
