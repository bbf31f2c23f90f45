package adapter

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"payledger/domain"
	"payledger/domain/processor"
)

const removed = "(removed)"

// secretParts are parts of names of fields with card data or personal data, without case, dashes
// and underscores.
var secretParts = []string{
	"cvv", "cvc", "securitycode", "cardverification", "pinblock", "track1", "track2", "trackdata",
	"cardnumber", "primaryaccountnumber", "cardholdername", "email", "phone", "mobilenumber", "billingaddress", "shippingaddress",
}

// secretWords are like secretParts, but count only as whole words.
var secretWords = []string{"cid", "pin", "pan"}

// harmless are names with such a part whose values are results of checks (§2.4).
var harmless = []string{"cvvsource", "cvvresult"}

// cleanTree removes card numbers, verification values and personal data from a JSON body, which is
// stored for ever. A body without them is returned unchanged. tree is the clean body decoded; nil
// if the body is no JSON text. No object may have a name twice (package exactjson): the tree has
// only one of them.
func cleanTree(body []byte) (clean []byte, tree any, redacted bool) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return body, nil, false // it will be refused
	}
	if _, err := decoder.Token(); err != io.EOF {
		return body, nil, false
	}
	if tree, redacted = cleaned(tree); !redacted {
		return body, tree, false
	}
	return encoded(tree), tree, true
}

// cleaned returns a value without data that must not be stored, and whether there was any. It
// changes the value.
func cleaned(v any) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return cleanedObject(v)
	case []any:
		found := false
		for i := range v {
			element, dirty := cleaned(v[i])
			v[i], found = element, found || dirty
		}
		return v, found
	case string:
		if telling(v) {
			return removed, true
		}
	case json.Number:
		if telling(v.String()) {
			return removed, true
		}
	}
	return v, false
}

func cleanedObject(fields map[string]any) (_ any, found bool) {
	for name, value := range fields {
		renamed := telling(name)
		if renamed {
			delete(fields, name)
			name, found = removed, true
		}
		if value != nil && !plainNames[name] && secretName(name) {
			fields[name], found = removed, true
			continue
		}
		if id, is := value.(string); is && slices.Contains(ours, name) && !domain.HoldsCardNumber(id) {
			continue
		}
		if inner, dirty := cleaned(value); dirty || renamed {
			fields[name], found = inner, true
		}
	}
	return fields, found
}

// telling reports whether a text may hold a card number, or holds an e-mail address.
func telling(text string) bool {
	if digits := strings.TrimPrefix(text, "-"); strings.Trim(digits, "0123456789") == "" {
		// An id, a time or an amount; one in ten has a valid check digit.
		return domain.ValidCardNumber(digits) || len(digits) == oldVisa && digits[0] == '4' && domain.Luhn(digits)
	}
	return strings.Contains(text, "@") || domain.MayHoldCardNumber(text)
}

// withoutCards removes telling texts of an answer that are stored in clear, with its outcome. Its
// ids stay: operations act upon them. It changes what the answer points to.
func withoutCards(a processor.Answer) processor.Answer {
	for _, text := range []*string{&a.Code, &a.Message, &a.AuthorizationCode, &a.ThreeDS} {
		*text = withoutCard(*text)
	}
	for _, facts := range []reflect.Value{reflect.ValueOf(a.Bin).Elem(), reflect.ValueOf(a.Risk).Elem()} {
		for i := 0; facts.IsValid() && i < facts.NumField(); i++ {
			facts.Field(i).SetString(withoutCard(facts.Field(i).String()))
		}
	}
	return a
}

func withoutCard(text string) string {
	if telling(text) {
		return removed
	}
	return text
}

// oldVisa is the length of the oldest numbers of Visa, in digits. They begin with 4, times in
// milliseconds with 1.
const oldVisa = 13

// ours are the fields with ids of this ledger, which may resemble card numbers: merchants' requests
// are checked (D21).
var ours = []string{"reference", "idempotencyKey"}

var nameWord = regexp.MustCompile(`[A-Z]+[a-z0-9]*|[a-z0-9]+`)

// plainNames are the names of the protocol's own fields that are not secret.
var plainNames = answerFields.plainNames(map[string]bool{})

func (f fields) plainNames(into map[string]bool) map[string]bool {
	for name, inner := range f {
		into[name] = !secretName(name)
		inner.plainNames(into)
	}
	return into
}

func secretName(name string) bool {
	words := nameWord.FindAllString(name, -1)
	plain := strings.ToLower(strings.Join(words, ""))
	if slices.Contains(harmless, plain) {
		return false
	}
	return slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(plain, part) }) ||
		slices.ContainsFunc(words, func(word string) bool { return slices.Contains(secretWords, strings.ToLower(word)) })
}
