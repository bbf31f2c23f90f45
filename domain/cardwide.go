package domain

import "strings"

// Lengths of what may be a card number, in digits: wider than those of D21, as old cards have 13.
const (
	leastDigits = 13
	mostDigits  = 19
)

// MayHoldCardNumber reports whether a text may hold a card number: any 13 to 19 digits with a right check digit, of whatever
// scheme, whatever touches them, and divided in any way by the dividers of D21. It is for texts that others wrote and that we
// keep or log, where a harmless number may be lost. What a merchant sends is held to FindCardNumber.
func MayHoldCardNumber(text string) bool {
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

// startsNumber reports whether the first groups, taken together, may be a card number.
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
