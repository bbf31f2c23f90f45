package adapter

import (
	"bytes"
	"reflect"
	"strings"

	"payledger/domain"
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

// plainRaw is rawAnswer for a plain body that holds no secrets but these; false if the name of a
// field holds one of them.
func plainRaw(body []byte, secrets ...string) (*processor.RawAnswer, bool) {
	raw := &processor.RawAnswer{Body: string(body)}
	for _, secret := range secrets {
		if secret == "" || !strings.Contains(raw.Body, secret) {
			continue
		}
		parts := strings.Split(raw.Body, `"`) // no text of a plain body has a quote: every second part is a name or a value
		for i := 1; i < len(parts); i += 2 {
			if !strings.Contains(parts[i], secret) {
				continue
			}
			if strings.HasPrefix(parts[i+1], ":") {
				return nil, false
			}
			parts[i], raw.Redacted = removed, true
		}
		raw.Body = strings.Join(parts, `"`)
	}
	return raw, len(raw.Body) <= maxRawAnswer
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
	return domain.Beginning(text, maxRawAnswer), len(text) > maxRawAnswer
}
