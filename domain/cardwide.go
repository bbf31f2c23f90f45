package domain

import (
	"strings"
	"unicode/utf8"
)

// Lengths of possible card numbers in digits, wider than in D21: old cards have 13.
const (
	leastDigits = 13
	mostDigits  = 19
)

// MayHoldCardNumber reports whether a text may hold a card number: any 13 to 19 digits with a right
// check digit, of any scheme, next to any character and divided in any way by the dividers of D21.
// It is for texts of others that are stored or logged, where the loss of a harmless number does not
// matter. FindCardNumber checks merchants' requests.
func MayHoldCardNumber(text string) bool {
	if fewDigits(text) {
		return false
	}
	other := func(r rune) bool { return !isDigit(r) && !isDivider(r) }
	for _, stretch := range strings.FieldsFunc(narrow.Replace(text), other) {
		groups := strings.FieldsFunc(stretch, isDivider)
		for i := range groups {
			if startsNumber(groups[i:]) {
				return true
			}
		}
	}
	return false
}

// fewDigits reports whether an ASCII text has too few digits for a card number.
func fewDigits(text string) bool {
	digits := 0
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
		if isDigit(rune(text[i])) {
			digits++
		}
	}
	return digits < leastDigits
}

// startsNumber reports whether the first groups together may be a card number.
func startsNumber(groups []string) bool {
	joined := ""
	for _, group := range groups {
		if joined += group; len(joined) > mostDigits {
			return false
		}
		if len(joined) >= leastDigits && Luhn(joined) {
			return true
		}
	}
	return false
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isDivider(r rune) bool { return strings.ContainsRune(dividers, r) }
