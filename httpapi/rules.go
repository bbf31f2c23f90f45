package httpapi

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/instrument"
)

// bodyRules are the rules of single calls that their schemas cannot say.
var bodyRules = map[string]func(*violations, map[string]any, *call){
	"createClientSession":     sessionRules,
	"changeClientSession":     sessionRules,
	"createPayment":           paymentRules,
	"capturePayment":          metadataRules,
	"refundPayment":           metadataRules,
	"createPaymentInstrument": cardRules,
	"createCheckoutPayment":   seenRules,
	"createPaymentAttempt":    seenRules,
	"createApiKey":            keyRules,
	"replaceRouting":          routingRules,
	"createWebhookReplay":     replayRules,
	"createWorkflow":          workflowRules,
	"replaceWorkflow":         workflowRules,
	"simulateWorkflow":        simulationRules,
}

// sessionRules: §2.5, D4.
func sessionRules(v *violations, tree map[string]any, c *call) {
	v.ofOrder(tree)
	if text, ok := tree["returnUrl"].(string); ok && !validReturnURL(text, c.api.Environment) {
		v.add("$.returnUrl", "must be an https URL")
	}
}

func validReturnURL(text, environment string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && environment == account.Sandbox
}

// paymentRules: §4, D5.
func paymentRules(v *violations, tree map[string]any, _ *call) { v.ofOrder(tree) }

// ofOrder holds what sessions and payments have in common to its rules.
func (v *violations) ofOrder(tree map[string]any) {
	if code, ok := tree["currencyCode"].(string); ok && !domain.Currency(code).Known() { // §2.1
		v.add("$.currencyCode", "must be an active ISO 4217 currency code")
	}
	customer, _ := tree["customer"].(map[string]any)
	email, one := customer["email"].(string)
	emailAddress, two := customer["emailAddress"].(string)
	if one && two && email != emailAddress { // D4 takes both spellings of the one address
		v.add("$.customer.emailAddress", "must be the same as email, when both are sent")
	}
	metadata, _ := tree["metadata"].(map[string]any)
	v.ofMetadata(metadata)
}

// seenRules: what the customer saw is an amount with its currency (D12).
func seenRules(v *violations, tree map[string]any, _ *call) {
	_, amount := tree["amount"]
	code, currency := tree["currencyCode"].(string)
	switch {
	case amount && tree["currencyCode"] == nil:
		v.add("$.currencyCode", "must be sent with amount")
	case currency && !domain.Currency(code).Known():
		v.add("$.currencyCode", "must be an active ISO 4217 currency code")
	case currency && !amount:
		v.add("$.amount", "must be sent with currencyCode")
	}
}

// metadataRules: what a capture or refund adds to the payment's metadata (D10).
func metadataRules(v *violations, tree map[string]any, _ *call) {
	metadata, _ := tree["metadata"].(map[string]any)
	v.ofMetadata(metadata)
}

// Limits of metadata (D4). Its size is that of the keys and the values, without JSON's own characters.
const maxMetadataBytes = 4 << 10

// emptyMetadataKey has an errorId of its own (D3), when nothing else is wrong.
const emptyMetadataKey = "must not be empty as a key"

func (v *violations) ofMetadata(metadata map[string]any) {
	size := 0
	for key, value := range metadata {
		size += len(key)
		switch value := value.(type) {
		case string:
			size += len(value)
		case float64:
			size += len(strconv.FormatFloat(value, 'f', 0, 64))
			if value > float64(domain.MaxAmount) || value < -float64(domain.MaxAmount) {
				v.add("$.metadata"+member(key), fmt.Sprintf("must be between %d and %d, as an integer", -domain.MaxAmount, domain.MaxAmount))
			}
		case bool:
			size += len(strconv.FormatBool(value))
		}
		if key == "" {
			v.add("$.metadata['']", emptyMetadataKey)
		}
	}
	if size > maxMetadataBytes {
		v.add("$.metadata", fmt.Sprintf("must be at most %d bytes in all", maxMetadataBytes))
	}
}

// cardRules: D12. What the schema finds wrong by its form is not looked at again.
func cardRules(v *violations, tree map[string]any, c *call) {
	if kind, _ := tree["tokenType"].(string); kind != "" && (kind == instrument.MultiUse) != (tree["paymentFlow"] == flowVault) {
		v.add("$.tokenType", "must be MULTI_USE with the paymentFlow VAULT, and SINGLE_USE without")
	}
	card, _ := tree["paymentInstrument"].(map[string]any)
	text := func(field string, least, most int) (string, bool) {
		s, _ := card[field].(string)
		return s, len(s) >= least && len(s) <= most && strings.Trim(s, "0123456789") == ""
	}
	number, formed := text("number", 14, 19)
	if formed && !domain.ValidCardNumber(number) {
		v.add("$.paymentInstrument.number", "is not a card number")
	}
	if cvv, formed := text("cvv", 3, 4); formed {
		if network, known := domain.CardNetwork(number); known && len(cvv) != network.CVVLength() {
			v.add("$.paymentInstrument.cvv", fmt.Sprintf("must have %d digits for this card", network.CVVLength()))
		}
	}
	month, hasMonth := text("expirationMonth", 2, 2)
	year, hasYear := text("expirationYear", 4, 4)
	if hasMonth && hasYear && expired(month, year, c.api.Now()) {
		v.add("$.paymentInstrument.expirationYear", "lies in the past with expirationMonth")
	}
}

// expired: a card is good until its month has ended everywhere on earth.
func expired(month, year string, now time.Time) bool {
	m, monthErr := strconv.Atoi(month)
	y, yearErr := strconv.Atoi(year)
	if monthErr != nil || yearErr != nil || m < 1 || m > 12 {
		return false // the schema has named it
	}
	end := time.Date(y, time.Month(m)+1, 1, 12, 0, 0, 0, time.UTC)
	return !now.Before(end)
}

// keyRules: D20.
func keyRules(v *violations, tree map[string]any, _ *call) {
	if text, ok := tree["expiresAt"].(string); ok {
		if _, err := parseTime(text); err != nil {
			v.add("$.expiresAt", "must be an RFC 3339 date")
		}
	}
}

// lastYear is the last that RFC 3339 can write, 0 the first; an offset may lead beyond them.
const lastYear = 9999

// parseTime reads a date with any offset, or without one as UTC (D1).
func parseTime(text string) (time.Time, error) {
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
