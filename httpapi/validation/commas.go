package validation

import (
	"slices"
	"strings"
)

// holdCommas are the parameters whose values can have a comma in them: the merchant's own ids,
// addresses, the processors' codes (D22).
var holdCommas = []string{"customer_id", "merchant_id", "customer_email_address", "reasonCode"}

// Separate returns the values of a parameter that may be repeated. A comma separates values that
// cannot have one in them; all others are returned as they were sent (D11, D22).
func Separate(name string, sent []string) (values []string) {
	if slices.Contains(holdCommas, name) {
		return sent
	}
	for _, joined := range sent {
		values = append(values, strings.Split(joined, ",")...)
	}
	return values
}

// Parts returns the values that the only value of such a parameter may be, joined by commas; nil if
// it was repeated, or has no comma.
func Parts(name string, sent []string) []string {
	if len(sent) != 1 || !slices.Contains(holdCommas, name) || !strings.Contains(sent[0], ",") {
		return nil
	}
	return slices.DeleteFunc(strings.Split(sent[0], ","), func(part string) bool { return part == "" })
}

// Ambiguous returns the names of the parameters that can be values joined by commas, or one value
// with commas in it.
func Ambiguous(query map[string][]string) (names []string) {
	for _, name := range holdCommas {
		if len(Parts(name, query[name])) > 0 {
			names = append(names, name)
		}
	}
	return names
}
