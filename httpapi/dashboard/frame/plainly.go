package frame

import (
	"regexp"
	"strings"
)

// The parts of a refusal that are for programs: the common first sentence of the API, and the path
// of a field.
var (
	firstSentence = regexp.MustCompile(`^The request is not valid\.;? *`)
	fieldPath     = regexp.MustCompile(`\$\.([A-Za-z][A-Za-z0-9.\[\]]*) (\w+)`)
	humps         = regexp.MustCompile(`([a-z])([A-Z])`)
)

// verbs are the words with which a description goes on about its field: "must be at least 1".
var verbs = map[string]bool{"must": true, "is": true, "are": true, "has": true, "may": true, "cannot": true, "needs": true, "was": true}

// Plainly writes a refusal of the API for people: "The request is not valid. $.amount must be above
// 0." becomes "The amount must be above 0.".
func Plainly(text string) string {
	text = fieldPath.ReplaceAllStringFunc(firstSentence.ReplaceAllString(text, ""), func(found string) string {
		parts := fieldPath.FindStringSubmatch(found)
		if verbs[parts[2]] {
			return "The " + fieldName(parts[1]) + " " + parts[2]
		}
		return strings.ToUpper(parts[2][:1]) + parts[2][1:]
	})
	if text == "" {
		return "It was not accepted."
	}
	return text
}

// fieldName writes the path of a field as words: "order.countryCode" becomes "country code".
func fieldName(path string) string {
	words := humps.ReplaceAllString(path[strings.LastIndexByte(path, '.')+1:], "$1 $2")
	return strings.ToLower(words)
}
