package httpapi

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"payledger/domain"
)

// Limits of metadata (D4).
const (
	maxMetadataKeys  = 64
	maxMetadataBytes = 4 << 10
)

// notFreeText are fields that hold no free text: looking for a card number in them would refuse good ids.
var notFreeText = map[string]bool{"number": true, "paymentMethodToken": true, "url": true, "returnUrl": true, "pageUrl": true}

// ofText refuses card numbers in free-form fields (D1), wherever they stand; keys of metadata included.
func (v violations) ofText(path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if domain.HoldsCardNumber(key) {
				v.add(path+member(key), "must not hold a card number")
			}
			if !notFreeText[key] {
				v.ofText(path+member(key), inner)
			}
		}
	case []any:
		for i, inner := range value {
			v.ofText(path+"["+strconv.Itoa(i)+"]", inner)
		}
	case string:
		if domain.HoldsCardNumber(value) {
			v.add(path, "must not hold a card number")
		}
	case float64:
		if value >= 1e13 && domain.HoldsCardNumber(strconv.FormatFloat(value, 'f', 0, 64)) {
			v.add(path, "must not hold a card number")
		}
	}
}

func emptyMetadataKey(tree map[string]any) bool {
	metadata, _ := tree["metadata"].(map[string]any)
	_, empty := metadata[""]
	return empty
}

// ofMetadata holds metadata to D4: strings, integers and booleans, and not too much of them.
func (v violations) ofMetadata(tree map[string]any) {
	metadata, ok := tree["metadata"].(map[string]any)
	if !ok {
		return
	}
	for key, value := range metadata {
		switch value := value.(type) {
		case string, bool:
		case float64:
			if value != float64(int64(value)) || value > float64(domain.MaxAmount) || value < -float64(domain.MaxAmount) {
				v.add("$.metadata"+member(key), "must be a string, an integer or a boolean")
			}
		default:
			v.add("$.metadata"+member(key), "must be a string, an integer or a boolean")
		}
	}
	if len(metadata) > maxMetadataKeys {
		v.add("$.metadata", fmt.Sprintf("must have at most %d keys", maxMetadataKeys))
	}
	if text, err := json.Marshal(metadata); err != nil || len(text) > maxMetadataBytes {
		v.add("$.metadata", fmt.Sprintf("must be at most %d bytes of JSON", maxMetadataBytes))
	}
}

// ofCurrency holds a currency to ISO 4217 (§2.1).
func (v violations) ofCurrency(tree map[string]any) {
	if code, ok := tree["currencyCode"].(string); ok && !domain.Currency(code).Known() {
		v.add("$.currencyCode", "must be an active ISO 4217 currency code")
	}
}

// ofCustomer refuses two spellings of the e-mail that differ (D4 takes both).
func (v violations) ofCustomer(tree map[string]any) {
	customer, _ := tree["customer"].(map[string]any)
	short, one := customer["email"].(string)
	long, two := customer["emailAddress"].(string)
	if one && two && short != long {
		v.add("$.customer.emailAddress", "must be the same as email, when both are sent")
	}
}

func sessionRules(v violations, tree map[string]any, c *call) {
	v.ofCurrency(tree)
	v.ofCustomer(tree)
	if url, ok := tree["returnUrl"].(string); ok && !strings.HasPrefix(url, "https://") &&
		(!strings.HasPrefix(url, "http://") || c.api.Environment != "sandbox") {
		v.add("$.returnUrl", "must be an https address")
	}
}

// paymentRules: §4 and D5. Header faults are named by themselves: they have a model of their own.
func paymentRules(v violations, tree map[string]any, _ *call) {
	v.ofCurrency(tree)
	v.ofCustomer(tree)
}

// cardRules hold a card to D12: a number that can be one, an expiry to come, a CVV of the right length.
func cardRules(v violations, tree map[string]any, c *call) {
	card, ok := tree["paymentInstrument"].(map[string]any)
	if !ok {
		return
	}
	number, _ := card["number"].(string)
	if number != "" && !domain.ValidCardNumber(number) {
		v.add("$.paymentInstrument.number", "is not a card number")
	}
	if network, known := domain.CardNetwork(number); known {
		if cvv, sent := card["cvv"].(string); sent && len(cvv) != network.CVVLength() {
			v.add("$.paymentInstrument.cvv", fmt.Sprintf("must have %d digits", network.CVVLength()))
		}
	}
	month, _ := card["expirationMonth"].(string)
	year, _ := card["expirationYear"].(string)
	if expired(month, year, c.api.Now()) {
		v.add("$.paymentInstrument.expirationYear", "lies in the past with expirationMonth")
	}
}

// expired: a card is good until its month has ended everywhere on earth.
func expired(month, year string, now time.Time) bool {
	m, monthErr := strconv.Atoi(month)
	y, yearErr := strconv.Atoi(year)
	if monthErr != nil || yearErr != nil {
		return false // the schema has named it
	}
	end := time.Date(y, time.Month(m)+1, 1, 12, 0, 0, 0, time.UTC)
	return !now.Before(end)
}

// Limits of idempotency keys (D9).
const maxIdempotencyKey = 255

// idempotencyKey reads the header: one, of visible ASCII; "" when there is none.
func (c *call) idempotencyKey() (string, error) {
	values := c.r.Header.Values("X-Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	key := values[0]
	bad := strings.IndexFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0
	if len(values) > 1 || key == "" || bad || utf8.RuneCountInString(key) > maxIdempotencyKey {
		return "", domain.Invalid("Headers", domain.Violation{
			Path: "$['X-Idempotency-Key']", Description: fmt.Sprintf("must be one header of 1 to %d visible ASCII characters", maxIdempotencyKey),
		})
	}
	return key, nil
}
