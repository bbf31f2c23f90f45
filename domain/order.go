package domain

import (
	"cmp"
	"slices"
)

// Order is what is bought (§2.5, D4). Session and payment carry the same shape; nothing in it is
// personal data.
type Order struct {
	LineItems           []LineItem `json:"lineItems,omitempty"`
	CountryCode         string     `json:"countryCode,omitempty"`
	RetailerCountryCode string     `json:"retailerCountryCode,omitempty"`
	Fees                []Fee      `json:"fees,omitempty"`
	Shipping            *Shipping  `json:"shipping,omitempty"`
}

// Preferences are wishes of a merchant for the payment method (D21). They do not change how a payment is made.
type Preferences struct {
	AllowedNetworks []Network `json:"orderedAllowedCardNetworks,omitempty"` // of cards that may be tokenized; none: all
	Options         JSON      `json:"options,omitempty"`
}

// Takes reports whether a card of the network may pay.
func (p Preferences) Takes(n Network) bool {
	return len(p.AllowedNetworks) == 0 || slices.Contains(p.AllowedNetworks, n)
}

// JSON is a value as its JSON text; in JSON it stands as that value.
type JSON string

// MarshalJSON returns the text.
func (j JSON) MarshalJSON() ([]byte, error) { return []byte(j), nil }

// UnmarshalJSON keeps the text.
func (j *JSON) UnmarshalJSON(text []byte) error { *j = JSON(text); return nil }

// LineItem is one position of an order; amounts in minor units of the order's currency, per piece
// (Amount) or for the whole line (DiscountAmount, TaxAmount).
type LineItem struct {
	ItemID         string       `json:"itemId,omitempty"`
	Name           string       `json:"name,omitempty"`
	Description    string       `json:"description,omitempty"`
	Amount         Amount       `json:"amount"`
	Quantity       *int64       `json:"quantity,omitempty"` // absent counts as 1
	DiscountAmount Amount       `json:"discountAmount,omitempty"`
	TaxAmount      Amount       `json:"taxAmount,omitempty"`
	TaxCode        string       `json:"taxCode,omitempty"`
	ProductType    string       `json:"productType,omitempty"`
	ProductData    *ProductData `json:"productData,omitempty"`
}

// ProductData describes the article (from API 2.2).
type ProductData struct {
	SKU                    string   `json:"sku,omitempty"`
	Brand                  string   `json:"brand,omitempty"`
	Color                  string   `json:"color,omitempty"`
	GlobalTradeItemNumber  string   `json:"globalTradeItemNumber,omitempty"`
	ManufacturerPartNumber string   `json:"manufacturerPartNumber,omitempty"`
	Weight                 *float64 `json:"weight,omitempty"`
	WeightUnit             string   `json:"weightUnit,omitempty"`
	PageURL                string   `json:"pageUrl,omitempty"`
}

// Fee is a surcharge on the whole order.
type Fee struct {
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
	Amount      Amount `json:"amount"`
}

// Shipping is the cost and way of delivery.
type Shipping struct {
	Amount            Amount `json:"amount,omitempty"`
	MethodID          string `json:"methodId,omitempty"`
	MethodName        string `json:"methodName,omitempty"`
	MethodDescription string `json:"methodDescription,omitempty"`
}

// Total is the sum over line items of amount × quantity − discount + tax, plus shipping and fees (D4).
// It is false when there is nothing to sum, or when the sum is negative or above MaxAmount.
func (o *Order) Total() (Amount, bool) {
	if o == nil || len(o.LineItems) == 0 {
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
	if o.Shipping != nil {
		add(o.Shipping.Amount, true)
	}
	for _, fee := range o.Fees {
		add(fee.Amount, true)
	}
	if !fits || total < 0 || total > MaxAmount {
		return 0, false
	}
	return total, true
}

// MergeOrder lays over onto base field by field; a field that over leaves out keeps base's value (D5).
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
	merged.Shipping = cmp.Or(over.Shipping, base.Shipping)
	return &merged
}
