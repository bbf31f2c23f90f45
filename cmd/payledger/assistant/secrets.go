package assistant

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"slices"
)

// Tokens are for the programs that pay with them: a reusable token charges its card, and a client
// token acts for the customer.
const hidden = "(hidden)"

var (
	// tokenField is a field with a token, also in a text of JSON within JSON, or with a secret that
	// the API shows once. A digest of a token begins with # and stays. TestNoFieldIsForgotten
	// compares the names with openapi.yaml.
	tokenField = regexp.MustCompile(`\\*"(?:paymentMethodToken|clientToken|resumeToken|actionToken|accessToken|token|apiKey|signingSecret|password)\\*"\s*:\s*\\*"([\w.-]{16,})\\*"`)
	// changedToken is a change of such a field in a payment's history.
	changedToken = regexp.MustCompile(`"path":"[^"]*[tT]oken"(?:,"from":"([\w.-]{16,})")?(?:,"to":"([\w.-]{16,})")?`)
	// signedToken is a JSON Web Token, wherever it is.
	signedToken = regexp.MustCompile(`eyJ[\w-]+\.[\w-]+\.[\w-]+`)
	// rawBytes are the exact bytes of an event, which have the event's tokens.
	rawBytes = regexp.MustCompile(`"raw":"([A-Za-z0-9+/=]+)"`)
)

// withoutTokens returns an answer of the API without tokens. A value that is a token in one place
// is hidden in all.
func withoutTokens(answer []byte) []byte {
	var tokens [][]byte
	for _, pattern := range []*regexp.Regexp{tokenField, changedToken} {
		for _, found := range pattern.FindAllSubmatch(answer, -1) {
			for _, token := range found[1:] {
				if len(token) > 0 {
					tokens = append(tokens, token)
				}
			}
		}
	}
	answer = rawBytes.ReplaceAllFunc(answer, func(field []byte) []byte {
		raw, err := base64.StdEncoding.AppendDecode(nil, rawBytes.FindSubmatch(field)[1])
		if err != nil || signedToken.Match(raw) || slices.ContainsFunc(tokens, func(token []byte) bool { return bytes.Contains(raw, token) }) {
			return []byte(`"raw":"` + hidden + `"`)
		}
		return field
	})
	for _, token := range tokens {
		answer = bytes.ReplaceAll(answer, token, []byte(hidden))
	}
	return signedToken.ReplaceAll(answer, []byte(hidden))
}
