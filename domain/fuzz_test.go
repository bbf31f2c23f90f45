package domain_test

import (
	"strings"
	"testing"

	"payledger/domain"
)

// FuzzFindCardNumber checks, for any text, that a reported number is a card number whose digits are
// in the text in this order. Text beside a card number, on another line, does not hide it.
func FuzzFindCardNumber(f *testing.F) {
	for _, seed := range []string{
		"", "4111111111111111", "order 12 4111 1111-1111 1111", "1700000000000", "378282246310005 30569309025904",
		"41111111111111110000", "4111.1111.1111.1111", "\xff4111111111111111\xfe", "٤١١١", "- -4111111111111111- -", "４１１１",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		number, divided := domain.FindCardNumber(text, false)
		if number != "" && !domain.ValidCardNumber(number) || number == "" && divided {
			t.Fatalf("%q gives %q, divided: %v", text, number, divided)
		}
		strict, grouped := domain.FindCardNumber(text, true)
		if strict != "" && (!grouped || number == "") || divided && strict == "" {
			t.Fatalf("%q gives %q, and %q when divided ones alone count", text, number, strict)
		}
		rest := strings.NewReplacer("０", "0", "１", "1", "２", "2", "３", "3", "４", "4", "５", "5", "６", "6", "７", "7", "８", "8", "９", "9").Replace(text)
		for _, digit := range number {
			at := strings.IndexRune(rest, digit)
			if at < 0 {
				t.Fatalf("%q gives %q, which is not in it", text, number)
			}
			rest = rest[at+1:]
		}
		if !domain.HoldsCardNumber(text+"\n4111111111111111") || !domain.HoldsCardNumber("4111-1111-1111-1111\n"+text) {
			t.Fatalf("%q hides the card number beside it", text)
		}
	})
}
