package domain

import (
	"cmp"
	"slices"
)

// Order is what is bought (§2.5, D4). Session and payment carry the same shape; nothing in it is
// personal data.
type Order struct {
	LineItems           []LineItem `json:"lineItems,omitempty"`           // the bought articles
	CountryCode         string     `json:"countryCode,omitempty"`         // the country of the order, ISO 3166-1 alpha-2
	RetailerCountryCode string     `json:"retailerCountryCode,omitempty"` // the merchant's country, ISO 3166-1 alpha-2
	Fees                []Fee      `json:"fees,omitempty"`                // surcharges on the whole order
	Shipping            *Shipping  `json:"shipping,omitempty"`            // cost and way of delivery
}

// Preferences are wishes of a merchant for the payment method (D21). They do not change how a
// payment is made.
type Preferences struct {
	AllowedNetworks []Network `json:"orderedAllowedCardNetworks,omitempty"` // of cards that may be tokenized; none: all
	Options         JSON      `json:"options,omitempty"`                    // the merchant's own options, JSON, kept as sent
}

// Takes reports whether a card of the network may pay.
func (p Preferences) Takes(n Network) bool {
	return len(p.AllowedNetworks) == 0 || slices.Contains(p.AllowedNetworks, n)
}

// JSON is a value as its JSON text; in JSON it stands as that value.
type JSON string

func (j JSON) MarshalJSON() ([]byte, error) { return []byte(j), nil }

func (j *JSON) UnmarshalJSON(text []byte) error { *j = JSON(text); return nil }

// LineItem is one position of an order; amounts in minor units of the order's currency, per piece
// (Amount) or for the whole line (DiscountAmount, TaxAmount).
type LineItem struct {
	ItemID         string       `json:"itemId,omitempty"`         // the merchant's id of the article
	Name           string       `json:"name,omitempty"`           // the article's name
	Description    string       `json:"description,omitempty"`    // the merchant's own text
	Amount         Amount       `json:"amount"`                   // price of one piece, minor units
	Quantity       *int64       `json:"quantity,omitempty"`       // absent counts as 1
	DiscountAmount Amount       `json:"discountAmount,omitempty"` // discount on the whole line, minor units
	TaxAmount      Amount       `json:"taxAmount,omitempty"`      // tax on the whole line, minor units
	TaxCode        string       `json:"taxCode,omitempty"`        // the merchant's tax code
	ProductType    string       `json:"productType,omitempty"`    // PHYSICAL or DIGITAL
	ProductData    *ProductData `json:"productData,omitempty"`    // describes the article
}

// ProductData describes the article (from API 2.2).
type ProductData struct {
	SKU                    string   `json:"sku,omitempty"`                    // the merchant's stock keeping unit
	Brand                  string   `json:"brand,omitempty"`                  // the maker's brand
	Color                  string   `json:"color,omitempty"`                  // the article's color
	GlobalTradeItemNumber  string   `json:"globalTradeItemNumber,omitempty"`  // GTIN
	ManufacturerPartNumber string   `json:"manufacturerPartNumber,omitempty"` // the maker's own number
	Weight                 *float64 `json:"weight,omitempty"`                 // of one piece, in weightUnit
	WeightUnit             string   `json:"weightUnit,omitempty"`             // the unit of weight, as sent
	PageURL                string   `json:"pageUrl,omitempty"`                // the article's page in the shop
}

// Fee is a surcharge on the whole order.
type Fee struct {
	Type        string `json:"type,omitempty"`        // the merchant's own name for the kind of fee
	Description string `json:"description,omitempty"` // the merchant's own text
	Amount      Amount `json:"amount"`                // minor units of the order's currency
}

// Shipping is the cost and way of delivery.
type Shipping struct {
	Amount            *Amount `json:"amount,omitempty"`            // cost of delivery, minor units of the order's currency
	MethodID          string  `json:"methodId,omitempty"`          // the merchant's id of the way of delivery
	MethodName        string  `json:"methodName,omitempty"`        // the name of the way of delivery
	MethodDescription string  `json:"methodDescription,omitempty"` // the merchant's own text
}

// Price returns the cost of delivery; 0 if there is none.
func (s *Shipping) Price() Amount {
	if s == nil || s.Amount == nil {
		return 0
	}
	return *s.Amount
}

// HasAmounts reports whether a line item, a fee or the shipping has an amount. A way of shipping
// without a price has none.
func (o *Order) HasAmounts() bool {
	return o != nil && (len(o.LineItems) > 0 || len(o.Fees) > 0 || o.Shipping.Price() != 0)
}

// Total is the sum over line items of amount × quantity − discount + tax, plus shipping and fees
// (D4). It is false when there is nothing to sum, or when the sum is negative or above MaxAmount.
func (o *Order) Total() (Amount, bool) {
	if !o.HasAmounts() {
		return 0, false
	}
	total, fits := Amount(0), true
	add := func(a Amount, ok bool) {
		sum, sumOK := total.Add(a)
		total, fits = sum, fits && ok && sumOK
	}
	for _, item := range o.LineItems {
		quantity := int64(1)
		if item.Quantity != nil {
			quantity = *item.Quantity
		}
		add(item.Amount.Times(quantity))
		add(-item.DiscountAmount, true)
		add(item.TaxAmount, true)
	}
	add(o.Shipping.Price(), true)
	for _, fee := range o.Fees {
		add(fee.Amount, true)
	}
	if !fits || total < 0 || total > MaxAmount {
		return 0, false
	}
	return total, true
}

// MergeOrder lays over onto base field by field; a field that over leaves out keeps base's value
// (D5).
func MergeOrder(base, over *Order) *Order {
	if base == nil || over == nil {
		return cmp.Or(over, base)
	}
	merged := *base
	if over.LineItems != nil {
		merged.LineItems = over.LineItems
	}
	merged.CountryCode = cmp.Or(over.CountryCode, base.CountryCode)
	merged.RetailerCountryCode = cmp.Or(over.RetailerCountryCode, base.RetailerCountryCode)
	if over.Fees != nil {
		merged.Fees = over.Fees
	}
	merged.Shipping = mergeShipping(base.Shipping, over.Shipping)
	return &merged
}

// mergeShipping lays over onto base field by field. A price of 0 replaces base's.
func mergeShipping(base, over *Shipping) *Shipping {
	if base == nil || over == nil {
		return cmp.Or(over, base)
	}
	return &Shipping{
		Amount: cmp.Or(over.Amount, base.Amount), MethodID: cmp.Or(over.MethodID, base.MethodID),
		MethodName: cmp.Or(over.MethodName, base.MethodName), MethodDescription: cmp.Or(over.MethodDescription, base.MethodDescription),
	}
}
