package client

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"payledger/domain"
)

// removed stands in place of what must not be kept.
const removed = "(removed)"

// secretNames are fields that hold card data or personal data whatever their values look like; case, dashes and
// underscores aside.
var secretNames = []string{
	"cvv", "cvv2", "cvc", "cvc2", "cid", "securitycode", "cardverificationvalue", "pin", "pinblock", "track1", "track2", "trackdata",
	"pan", "cardnumber", "primaryaccountnumber", "cardholdername", "email", "emailaddress", "phone", "mobilenumber",
	"billingaddress", "shippingaddress",
}

// cleanBody takes card numbers, verification values and what tells of the customer out of a JSON body: it is kept for
// ever. A body without them comes back as it is.
func cleanBody(body []byte) (clean []byte, redacted bool) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return body, false // nor will it be taken
	}
	if _, err := decoder.Token(); err != io.EOF {
		return body, false
	}
	tree, redacted = cleaned(tree)
	if !redacted {
		return body, false
	}
	text, err := json.Marshal(tree)
	if err != nil { // it was decoded a moment ago
		panic(err)
	}
	return text, true
}

// cleaned gives a value without what must not be kept, and whether there was any.
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

func cleanedObject(fields map[string]any) (any, bool) {
	out, found := make(map[string]any, len(fields)), false
	for name, value := range fields {
		if telling(name) {
			name, found = removed, true
		}
		if secretName(name) && value != nil {
			out[name], found = removed, true
			continue
		}
		inner, dirty := cleaned(value)
		out[name], found = inner, found || dirty
	}
	return out, found
}

// telling tells whether a text holds a card number or an e-mail address.
func telling(text string) bool { return strings.Contains(text, "@") || domain.HoldsCardNumber(text) }

func secretName(name string) bool {
	plain := strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(name))
	return slices.Contains(secretNames, plain)
}
