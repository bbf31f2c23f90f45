package assistant

import (
	"encoding/base64"
	"strings"
	"testing"
)

// TestWithoutTokens: no answer has a token: not in a field, not in JSON within JSON, not as a
// change, and not in an event's exact bytes. Digests of tokens, ids and other bytes stay.
func TestWithoutTokens(t *testing.T) {
	t.Parallel()
	const token, signed = "01txvc7zda0dsqy23w6yqeyd9esr", "eyJhbGciOiJIUzI1NiJ9.eyJpbnRlbnQiOiIzRFMifQ.c2lnbmF0dXJl"
	raw := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for answer, want := range map[string]string{
		`{"paymentMethodToken":"` + token + `","id":"01b7cy13w429pbnms3rjj5fr4qyw"}`:                        `{"paymentMethodToken":"(hidden)","id":"01b7cy13w429pbnms3rjj5fr4qyw"}`,
		`{"body":"{\"token\": \"` + token + `\"}"}`:                                                         `{"body":"{\"token\": \"(hidden)\"}"}`,
		`{"changed":[{"path":"$.paymentMethod.paymentMethodToken","to":"` + token + `"}]}`:                  `{"changed":[{"path":"$.paymentMethod.paymentMethodToken","to":"(hidden)"}]}`,
		`{"changed":[{"path":"$.token","from":"` + token + `","to":null}]}`:                                 `{"changed":[{"path":"$.token","from":"(hidden)","to":null}]}`,
		`{"token":"` + token + `","raw":"` + raw("\x80 "+token) + `"}`:                                      `{"token":"(hidden)","raw":"(hidden)"}`,
		`{"token":"` + token + `","raw":"` + raw("\x80 other") + `","note":"` + token + `"}`:                `{"token":"(hidden)","raw":"` + raw("\x80 other") + `","note":"(hidden)"}`,
		`{"requiredAction":{"clientToken":"` + signed + `"},"url":"https://pay.example/?t=` + signed + `"}`: `{"requiredAction":{"clientToken":"(hidden)"},"url":"https://pay.example/?t=(hidden)"}`,
		`{"raw":"` + raw(signed) + `"}`:                                                                     `{"raw":"(hidden)"}`,
		`{"token":"#5cb3e4f386eda55f356cb2ad","tokenType":"SINGLE_USE"}`:                                    `{"token":"#5cb3e4f386eda55f356cb2ad","tokenType":"SINGLE_USE"}`,
		`{"metadata":{"token":"short"},"cardTokenType":"CARD_PAN"}`:                                         `{"metadata":{"token":"short"},"cardTokenType":"CARD_PAN"}`,
	} {
		if got := string(withoutTokens([]byte(answer))); got != want || strings.Contains(got, token) {
			t.Errorf("%s\nis    %s\nwants %s", answer, got, want)
		}
	}
}
