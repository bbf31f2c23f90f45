package paymentpages

import (
	"cmp"
	"strings"

	"payledger/domain"
	"payledger/httpapi/dashboard/frame"
)

// fact is a line of facts: its name, and its value for people.
type fact struct{ Name, Text string }

// check is the result of a check of the card or the customer.
type check struct {
	Name   string
	Result string // a constant of the API
	Tone   string // good, bad, or "" for neither
}

// Card returns network and last digits of the card; "" for another payment method.
func (p paymentData) Card() string {
	card := p.PaymentMethod.PaymentMethodData
	if card.Last4Digits == "" {
		return ""
	}
	return string(card.Network) + " •••• " + card.Last4Digits
}

// unknown are the words of the API for a fact that nobody knows.
func unknown(word string) bool { return word == "" || word == "UNKNOWN" || word == "NOT_APPLICABLE" }

// Method returns the facts about the card, its holder and its issuer that are known.
func (p paymentData) Method() (all []fact) {
	add := func(name, text string) {
		if text != "" {
			all = append(all, fact{name, text})
		}
	}
	card := p.PaymentMethod.PaymentMethodData
	bin := card.BinData
	add("Card", p.Card())
	if card.ExpirationMonth != "" {
		add("Expires", card.ExpirationMonth+"/"+card.ExpirationYear)
	}
	add("Cardholder", card.CardholderName)
	add("Issuer", strings.Trim(bin.IssuerName+", "+bin.IssuerCountryCode, ", "))
	var kind []string
	for _, word := range []string{bin.AccountFundingType, bin.ProductUsageType} {
		if !unknown(word) {
			kind = append(kind, strings.ToLower(frame.Plain(word)))
		}
	}
	add("Kind", strings.Join(kind, ", "))
	if !unknown(bin.ProductName) {
		add("Product", bin.ProductName)
	}
	if p.PaymentMethod.IsVaulted {
		add("Saved", "for further payments")
	}
	if card.IsNetworkTokenized {
		add("Charged with", "a network token")
	}
	add("Text on the statement", p.PaymentMethod.Descriptor)
	return all
}

// tones are the results of checks that are good or bad news.
var tones = map[string]string{
	"MATCHED": "good", "NOT_MATCHED": "bad", "AUTH_SUCCESS": "good", "AUTH_FAILED": "bad", "ACCEPT": "good", "REFUSE": "bad", "FAILED": "bad",
}

// Checks returns the results of the checks that the processor reports: CVV, address, 3-D Secure and
// fraud.
func (p paymentData) Checks() (all []check) {
	add := func(name, result string) {
		if result != "" {
			all = append(all, check{name, result, tones[result]})
		}
	}
	if a := p.PaymentMethod.ThreeDSecureAuthentication; a != nil {
		add("3-D Secure", a.ResponseCode)
	}
	risk := p.RiskData
	if risk == nil {
		return all
	}
	if risk.CVVCheck != nil {
		add("CVV", risk.CVVCheck.Result)
	}
	if risk.AVSCheck != nil && risk.AVSCheck.Result != nil {
		add("Street of the address", risk.AVSCheck.Result.StreetAddress)
		add("Postal code", risk.AVSCheck.Result.PostalCode)
	}
	if risk.FraudChecks != nil {
		add("Fraud, before the authorization", risk.FraudChecks.PreAuthorizationResult)
		add("Fraud, after the authorization", risk.FraudChecks.PostAuthorizationResult)
	}
	return all
}

// Person returns the facts about the customer that the API shows.
func (p paymentData) Person() (all []fact) {
	c := p.Customer
	if c == nil {
		return nil
	}
	for _, f := range []fact{
		{"Name", strings.TrimSpace(c.FirstName + " " + c.LastName)}, {"E-mail address", cmp.Or(c.EmailAddress, c.Email)}, {"Telephone", c.MobileNumber},
		{"Billing address", address(c.BillingAddress)}, {"Shipping address", address(c.ShippingAddress)},
		{"Tax number", c.TaxID}, {"National document", c.NationalDocumentID},
	} {
		if f.Text != "" {
			all = append(all, f)
		}
	}
	return all
}

// Impersonal reports whether the payment shows nothing about a person: nothing was sent, or it was
// erased.
func (p paymentData) Impersonal() bool {
	return len(p.Person()) == 0 && p.PaymentMethod.PaymentMethodData.CardholderName == ""
}

// address writes an address in one line; "" for none.
func address(a *domain.Address) string {
	if a == nil {
		return ""
	}
	var parts []string
	for _, part := range []string{
		a.FirstName + " " + a.LastName, a.AddressLine1, a.AddressLine2, a.PostalCode + " " + a.City, a.State, a.CountryCode,
	} {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// line is an article, the shipping or a fee of an order.
type line struct {
	Name, Note string
	Quantity   int64 // 0: it is none of articles
	Each       domain.Amount
	Sum        domain.Amount // with discount and tax
	Beyond     bool          // the sum is no amount
}

// Bought returns the lines of the order: articles, shipping and fees, whose sums are the order's
// total (D4).
func (p paymentData) Bought() (all []line) {
	o := p.Order
	if o == nil {
		return nil
	}
	for _, item := range o.LineItems {
		all = append(all, p.article(item))
	}
	if s := o.Shipping; s != nil {
		all = append(all, line{Name: "Shipping", Note: cmp.Or(s.MethodName, s.MethodDescription, s.MethodID), Sum: s.Price()})
	}
	for _, fee := range o.Fees {
		all = append(all, line{Name: "Fee", Note: cmp.Or(fee.Description, fee.Type), Sum: fee.Amount})
	}
	return all
}

func (p paymentData) article(item domain.LineItem) line {
	out := line{Name: cmp.Or(item.Name, item.Description, item.ItemID, "Article"), Quantity: 1, Each: item.Amount}
	if item.Quantity != nil {
		out.Quantity = *item.Quantity
	}
	sum, fits := item.Amount.Times(out.Quantity)
	out.Sum, out.Beyond = sum-item.DiscountAmount+item.TaxAmount, !fits
	var notes []string
	if item.ItemID != "" && item.ItemID != out.Name {
		notes = append(notes, item.ItemID)
	}
	if item.ProductData != nil && item.ProductData.SKU != "" {
		notes = append(notes, "SKU "+item.ProductData.SKU)
	}
	if item.DiscountAmount != 0 {
		notes = append(notes, frame.Money(item.DiscountAmount, p.CurrencyCode)+" discount")
	}
	if item.TaxAmount != 0 {
		notes = append(notes, frame.Money(item.TaxAmount, p.CurrencyCode)+" tax")
	}
	out.Note = strings.Join(notes, ", ")
	return out
}
