package payments

import (
	"fmt"
	"net/url"
	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/instrument"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"strings"
)

func (h *Handlers) sessionRules(v *validation.Violations, c *request.Call) {
	v.Order(c.Body.Tree)
	if text, ok := c.Body.Tree["returnUrl"].(string); ok && !validReturnURL(text, h.Environment) {
		v.Add("$.returnUrl", "must be an https URL")
	}
}

func validReturnURL(text, environment string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && environment == account.Sandbox
}

func paymentRules(v *validation.Violations, c *request.Call) { v.Order(c.Body.Tree) }

// priceRules checks the price that the customer saw: an amount with its currency (D12).
func priceRules(v *validation.Violations, c *request.Call) {
	_, amount := c.Body.Tree["amount"]
	code, currency := c.Body.Tree["currencyCode"].(string)
	switch {
	case amount && c.Body.Tree["currencyCode"] == nil:
		v.Add("$.currencyCode", "must be sent with amount")
	case currency && !domain.Currency(code).Known():
		v.Add("$.currencyCode", "must be an active ISO 4217 currency code")
	case currency && !amount:
		v.Add("$.amount", "must be sent with currencyCode")
	}
}

func metadataRules(v *validation.Violations, c *request.Call) {
	v.Metadata(c.Body.Tree)
}

// cardRules checks a card (D12). It skips malformed fields: the schema reports them.
func (h *Handlers) cardRules(v *validation.Violations, c *request.Call) {
	if kind, _ := c.Body.Tree["tokenType"].(string); kind != "" && (kind == instrument.MultiUse) != (c.Body.Tree["paymentFlow"] == flowVault) {
		v.Add("$.tokenType", "must be MULTI_USE with the paymentFlow VAULT, and SINGLE_USE without")
	}
	field := "paymentInstrument"
	if _, has := c.Body.Tree[field]; has == (c.Body.Tree["processorToken"] != nil) {
		v.Add("$.paymentInstrument", "must be sent, or processorToken in its place")
		return
	} else if !has {
		field = "processorToken"
	}
	card, _ := c.Body.Tree[field].(map[string]any)
	text := func(field string, least, most int) (string, bool) {
		s, _ := card[field].(string)
		return s, len(s) >= least && len(s) <= most && strings.Trim(s, "0123456789") == ""
	}
	if token, _ := card["token"].(string); domain.HoldsCardNumber(token) {
		v.Add("$.processorToken.token", "is a card number, and not a processor's token of one")
	}
	number, formed := text("number", 14, 19)
	if formed && !domain.ValidCardNumber(number) {
		v.Add("$.paymentInstrument.number", "is not a card number")
	}
	if cvv, formed := text("cvv", 3, 4); formed {
		if network, known := domain.CardNetwork(number); known && len(cvv) != network.CVVLength() {
			v.Add("$.paymentInstrument.cvv", fmt.Sprintf("must have %d digits for this card", network.CVVLength()))
		}
	}
	month, hasMonth := text("expirationMonth", 2, 2)
	year, hasYear := text("expirationYear", 4, 4)
	if hasMonth && hasYear && domain.CardExpired(month, year, h.Now()) {
		v.Add("$."+field+".expirationYear", "lies in the past with expirationMonth")
	}
}
