package protocol

import (
	"strings"

	"payledger/domain"
)

// MaxCardToken is the number of characters of the longest token of a card.
const MaxCardToken = 255

// ValidCardToken reports whether a text can be a token of a card: visible ASCII characters, without
// a card number.
func ValidCardToken(text string) bool {
	invisible := func(r rune) bool { return r < '!' || r > '~' }
	return text != "" && len(text) <= MaxCardToken && strings.IndexFunc(text, invisible) < 0 && !domain.HoldsCardNumber(text)
}
