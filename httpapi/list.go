package httpapi

import (
	"net/url"
	"slices"
	"strconv"

	"payledger/domain"
	"payledger/projections"
)

// paymentList is the answer of GET /payments (D11).
type paymentList struct {
	Data       []projections.PaymentSummary `json:"data"`
	NextCursor string                       `json:"nextCursor,omitempty"`
	PrevCursor string                       `json:"prevCursor,omitempty"`
}

// listPayments: GET /payments.
func listPayments(c *call) (any, error) {
	query := c.r.URL.Query()
	filter := paymentFilter(query)
	cursors := c.cursors(filter)
	from, err := cursors.place(query.Get("cursor"))
	if err != nil {
		return nil, err // listRules have seen it
	}
	found, err := c.api.Reader.ListPayments(c.ctx, c.merchant.ID, filter, from, limit(query))
	if err != nil {
		return nil, err
	}
	return paymentList{Data: found.Data, NextCursor: cursors.text(found.Older), PrevCursor: cursors.text(found.Newer)}, nil
}

// limit is the length of a page; the schema has seen it (D20).
func limit(query url.Values) int { return integerOr(query, "limit", defaultLimit) }

// integerOr returns the integer value of a query parameter that was validated, or otherwise if it was not sent.
func integerOr(query url.Values, name string, otherwise int) int {
	if n, err := strconv.Atoi(query.Get(name)); err == nil {
		return n
	}
	return otherwise
}

// paymentFilter reads the filters of D11, as far as they are valid.
func paymentFilter(query url.Values) projections.PaymentFilter {
	several := func(name string) []string { // in any order they say the same
		return slices.Compact(slices.Sorted(slices.Values(separate(query[name]))))
	}
	return projections.PaymentFilter{
		Statuses: several("status"), MethodTypes: several("payment_method_type"), Processors: several("processor"),
		Currencies: several("currency_code"), CustomerIDs: several("customer_id"), MerchantIDs: several("merchant_id"),
		Emails: several("customer_email_address"), Last4Digits: several("last_4_digits"), OrderID: query.Get("order_id"),
		WalletEmails: slices.Concat(several("paypal_email"), several("klarna_email")),
		From:         read(query, "from_date", parseTime), To: read(query, "to_date", parseTime),
		MinAmount: read(query, "min_amount", parseAmount), MaxAmount: read(query, "max_amount", parseAmount),
	}
}

// read gives the value of a parameter; nil when it is not there, or is not valid.
func read[T any](query url.Values, name string, parse func(string) (T, error)) *T {
	value, err := parse(query.Get(name))
	if err != nil {
		return nil
	}
	return &value
}

func parseAmount(text string) (domain.Amount, error) {
	n, err := strconv.ParseInt(text, 10, amountBits)
	return domain.Amount(n), err
}

// listRules: what the parameters of D11 are to one another.
func listRules(v *violations, query url.Values, c *call) {
	filter := paymentFilter(query)
	if filter.From != nil && filter.To != nil && filter.From.After(*filter.To) {
		v.add("$.from_date", "must not be after to_date")
	}
	if filter.MinAmount != nil && filter.MaxAmount != nil && *filter.MinAmount > *filter.MaxAmount {
		v.add("$.min_amount", "must not be above max_amount")
	}
	if _, err := c.cursors(filter).place(query.Get("cursor")); err != nil {
		v.add("$.cursor", "is not a cursor of this list")
	}
}
