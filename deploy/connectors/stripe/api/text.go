package api

import (
	"strings"
	"unicode"

	"payledger/domain"
)

// maxMessage bounds a message of Stripe in an answer, in bytes.
const maxMessage = 300

// safe returns a message of Stripe without what may be card data, short.
func safe(text string) string {
	if domain.HoldsCardNumber(text) || strings.Contains(text, "@") {
		return ""
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "")
	}
	return text
}

// descriptor returns the text as Stripe takes it as the suffix of the statement, or "".
func descriptor(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`<>\'"*`, r) {
			return -1
		}
		return r
	}, text))
	if text = text[:min(len(text), 22)]; !strings.ContainsFunc(text, unicode.IsLetter) {
		return "" // Stripe refuses one without a letter
	}
	return text
}
