package sender

import (
	"html"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"payledger/domain"
)

// ExcerptLimit bounds the excerpt of an answer, in bytes.
const ExcerptLimit = 512

const withheld = "(withheld: the answer repeats the webhook or holds a secret)"

// excerpt returns the first bytes of an answer as valid UTF-8 without control characters. Records
// are kept for months, so excerpt withholds an answer that contains a copy of the webhook, its
// personal data or a secret.
func excerpt(answer []byte, m Message) string {
	if len(answer) == 0 {
		return ""
	}
	text := strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, !unicode.IsPrint(r) && !unicode.IsSpace(r):
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(answer), ""))
	if forms := formsOf(text); strings.Contains(forms[0], "notificationconfig") || strings.Contains(forms[0], "processordisputeid") || repeats(forms, m) || holdsSecret(forms) {
		return withheld
	}
	if len(text) > ExcerptLimit {
		text = text[:ExcerptLimit]
	}
	return strings.TrimSpace(strings.ToValidUTF8(text, ""))
}

// secretPrefixes are the prefixes of all API keys and signing secrets, also of other accounts' and
// of old ones (D2).
var secretPrefixes = []string{"plk_sandbox_", "plk_live_", "plsec_"}

// holdsSecret reports whether a form of the text may contain a card number or contains a key, also
// from another source than the webhook.
func holdsSecret(forms []string) bool {
	for _, text := range forms {
		if domain.MayHoldCardNumber(text) || slices.ContainsFunc(secretPrefixes, func(p string) bool { return strings.Contains(text, p) }) {
			return true
		}
	}
	return false
}

var unicodeEscape = regexp.MustCompile(`\\u[0-9a-fA-F]{4}`)

// formsOf returns the text unchanged and with the escapes of JSON, HTML and URLs undone, each
// folded.
func formsOf(text string) []string {
	forms := []string{text, html.UnescapeString(text), unicodeEscape.ReplaceAllStringFunc(text, func(escape string) string {
		code, _ := strconv.ParseUint(escape[2:], 16, 32) // the pattern has four hexadecimal digits
		return string(rune(code))
	})}
	if query, err := url.QueryUnescape(text); err == nil {
		forms = append(forms, query)
	}
	for i := range forms {
		forms[i] = folded(forms[i])
	}
	return forms
}

func folded(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

func repeats(forms []string, m Message) bool {
	for _, k := range m.Keys {
		if repeatsText(forms, k.Text) {
			return true
		}
	}
	return repeatsAny(forms, reflect.ValueOf(m.Private))
}

const (
	// privateLength is the shortest length of a value that repeats searches for: "US" and "5" occur
	// in any text.
	privateLength = 4
	// cutLength is the shortest beginning of a value that repeats searches for at the end of a text
	// that was cut.
	cutLength = 8
)

func repeatsAny(forms []string, v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return repeatsText(forms, v.String())
	case reflect.Pointer:
		return !v.IsNil() && repeatsAny(forms, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if repeatsAny(forms, v.Field(i)) {
				return true
			}
		}
	}
	return false
}

func repeatsText(forms []string, value string) bool {
	value = folded(value)
	if len(value) < privateLength {
		return false
	}
	for _, text := range forms {
		if strings.Contains(text, value) {
			return true
		}
		for n := min(len(value)-1, len(text)); n >= cutLength; n-- {
			if strings.HasSuffix(text, value[:n]) {
				return true
			}
		}
	}
	return false
}
