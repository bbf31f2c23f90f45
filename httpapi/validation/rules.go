package validation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"payledger/domain"
)

// Order checks the fields that sessions and payments have in common.
func (v *Violations) Order(tree map[string]any) {
	if code, ok := tree["currencyCode"].(string); ok && !domain.Currency(code).Known() { // §2.1
		v.Add("$.currencyCode", "must be an active ISO 4217 currency code")
	}
	customer, _ := tree["customer"].(map[string]any)
	email, one := customer["email"].(string)
	emailAddress, two := customer["emailAddress"].(string)
	if one && two && email != emailAddress { // D4 accepts both names of one address
		v.Add("$.customer.emailAddress", "must be the same as email, when both are sent")
	}
	v.Metadata(tree)
}

const emptyMetadataKey = "must not be empty as a key"

// Metadata checks the limits of the field metadata (D4).
func (v *Violations) Metadata(tree map[string]any) {
	metadata, _ := tree["metadata"].(map[string]any)
	whole := domain.Metadata(maps.Clone(metadata))
	for key, value := range metadata {
		if number, is := value.(float64); is {
			whole[key] = int64(number)
			if number > float64(domain.MaxAmount) || number < -float64(domain.MaxAmount) {
				v.Add("$.metadata"+Member(key), fmt.Sprintf("must be between %d and %d, as an integer", -domain.MaxAmount, domain.MaxAmount))
			}
		}
		if key == "" {
			v.Add("$.metadata['']", emptyMetadataKey)
		}
	}
	if whole.Size() > domain.MaxMetadataBytes {
		v.Add("$.metadata", fmt.Sprintf("must be at most %d bytes in all", domain.MaxMetadataBytes))
	}
}

// lastYear is the last year of RFC 3339; the first is 0. In UTC a date with an offset can lie
// outside.
const lastYear = 9999

// ParseTime parses a date. A date without an offset is in UTC (D1), and its letters may be lower
// case.
func ParseTime(text string) (time.Time, error) {
	text = strings.ToUpper(text)
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04:05.999999999", text)
	}
	t = t.UTC().Truncate(time.Microsecond)
	if err == nil && (t.Year() > lastYear || t.Year() < 0) {
		err = fmt.Errorf("httpapi: the year %d", t.Year())
	}
	return t, err
}

// Has reports whether there is a violation at exactly this path.
func (v Violations) Has(path string) bool {
	return slices.ContainsFunc(v, func(o domain.Violation) bool { return o.Path == path })
}

// Stands reports whether tree has a value at a path like "$.rules[0].when.currencyCode[1]".
func Stands(tree any, path string) bool {
	parts := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune("$.[]", r) })
	for _, part := range parts {
		switch inside := tree.(type) {
		case map[string]any:
			value, there := inside[part]
			if !there {
				return false
			}
			tree = value
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(inside) {
				return false
			}
			tree = inside[i]
		default:
			return false
		}
	}
	return true
}

// Date returns the date in a field; nil if there is none. The schema reports a value of another
// type.
func (v *Violations) Date(tree map[string]any, field string) *time.Time {
	text, is := tree[field].(string)
	if !is {
		return nil
	}
	at, err := ParseTime(text)
	if err != nil {
		v.Add("$."+field, "must be an RFC 3339 date")
		return nil
	}
	return &at
}

// Range adds a violation if a period begins after its end. nil means no bound.
func (v *Violations) Range(from, to *time.Time) {
	if from != nil && to != nil && from.After(*to) {
		v.Add("$.from", "must not be after to")
	}
}

// Once adds a violation unless its path has a violation already.
func (v *Violations) Once(path, description string) {
	if !v.Has(path) {
		v.Add(path, description)
	}
}
