package adapter

import (
	"bytes"
	"reflect"
	"strings"
	"unicode/utf8"

	"payledger/domain/processor"
)

// maxRawAnswer is the number of bytes that are kept of an answer's body, and again of its
// additional fields.
const maxRawAnswer = 4 << 10

// The fields of the protocol in an answer, and in the answer to a look-up.
var (
	answerFields = fieldsOf(reflect.TypeFor[processor.Answer]())
	lookupFields = fieldsOf(reflect.TypeFor[processor.Lookup]())
)

// rawAnswer returns the body of an answer as it is kept: without card data, personal data, the
// tokens of the card in the answer and in its request (sent, "" for none), and the token and the
// page of the action, in clear only the fields of the protocol (D14.17). A body without any of
// these is unchanged.
func rawAnswer(body []byte, named fields, answer processor.Answer, sent string) *processor.RawAnswer {
	clean, tree, redacted := cleanTree(body)
	for _, secret := range []string{answer.ActionToken, answer.ActionURL, answer.CardToken, sent} {
		if secret == "" {
			continue
		}
		before := encoded(tree)
		tree = replaced(tree, secret)
		if after := encoded(tree); !bytes.Equal(before, after) {
			clean, redacted = after, true
		}
	}
	in, rest := named.splitTree(clean, tree)
	raw := &processor.RawAnswer{Redacted: redacted}
	var cutBody, cutRest bool
	raw.Body, cutBody = cut(string(in))
	raw.Additional, cutRest = cut(rest)
	raw.Cut = cutBody || cutRest
	return raw
}

func replaced(v any, text string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			if strings.Contains(name, text) {
				name = removed
			}
			out[name] = replaced(value, text)
		}
		return out
	case []any:
		for i := range v {
			v[i] = replaced(v[i], text)
		}
	case string:
		if strings.Contains(v, text) {
			return removed
		}
	}
	return v
}

// cut returns the first bytes of a text, whole characters, and whether there are more.
func cut(text string) (string, bool) {
	if len(text) <= maxRawAnswer {
		return text, false
	}
	end := maxRawAnswer
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], true
}
