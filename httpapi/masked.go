package httpapi

import (
	"strings"
	"unicode"

	"payledger/domain"
)

// mayHoldCard reports whether digits in a text may be a card number, however they are divided and whatever touches them. It
// takes more for one than domain.HoldsCardNumber does: in a log line a digit too few costs nothing.
func mayHoldCard(text string) bool {
	if domain.HoldsCardNumber(text) {
		return true
	}
	var groups []string
	start := -1
	flush := func(end int) {
		if start >= 0 {
			groups = append(groups, text[start:end])
			start = -1
		}
	}
	for i, r := range text {
		switch {
		case r >= '0' && r <= '9':
			if start < 0 {
				start = i
			}
		case r == ' ' || r == '-':
			flush(i)
		default:
			flush(i)
			if anyCardNumber(groups) {
				return true
			}
			groups = groups[:0]
		}
	}
	flush(len(text))
	return anyCardNumber(groups)
}

// anyCardNumber tries every run of neighbouring groups whose digits are few enough to be a card number.
func anyCardNumber(groups []string) bool {
	for i := range groups {
		joined := ""
		for _, g := range groups[i:] {
			if joined += g; len(joined) > 19 {
				break
			}
			if domain.ValidCardNumber(joined) {
				return true
			}
		}
	}
	return false
}

// masked takes the digits out of a text that holds a card number: what went wrong may have one in its hands,
// and none reaches a log (D12).
func masked(text string) string {
	if !mayHoldCard(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return '#'
		}
		return r
	}, text)
}
