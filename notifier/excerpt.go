package notifier

import (
	"bytes"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// excerptLimit is how much of an answer is kept, in bytes.
const excerptLimit = 512

// withheld stands in place of an answer that repeats what must not be kept.
const withheld = "(withheld: the answer repeats the webhook)"

// excerpt gives the first bytes of an answer as text fit to be kept: valid UTF-8 without control characters. Records
// are never deleted, so an answer that repeats the webhook or personal data of it is not kept.
func excerpt(answer []byte, m message) string {
	if len(answer) == 0 {
		return ""
	}
	if bytes.Contains(answer, []byte(`"notificationConfig"`)) || repeats(string(answer), m) {
		return withheld
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
	if len(text) > excerptLimit {
		text = text[:excerptLimit]
	}
	return strings.TrimSpace(strings.ToValidUTF8(text, ""))
}

// repeats tells whether the text holds a secret or a piece of personal data of the message.
func repeats(text string, m message) bool {
	text = strings.ToLower(text)
	for _, k := range m.keys {
		if strings.Contains(text, strings.ToLower(k.text)) {
			return true
		}
	}
	return repeatsAny(text, reflect.ValueOf(m.private))
}

// personalLength is from which length on a value tells something: "US" and "5" stand in any text.
const personalLength = 4

func repeatsAny(text string, v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return v.Len() >= personalLength && strings.Contains(text, strings.ToLower(v.String()))
	case reflect.Pointer:
		return !v.IsNil() && repeatsAny(text, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if repeatsAny(text, v.Field(i)) {
				return true
			}
		}
	}
	return false
}
