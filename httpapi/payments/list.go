package payments

import (
	"net/url"
	"slices"
	"strconv"

	"payledger/domain"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections"
)

// paymentList is the answer of GET /payments (D11).
type paymentList struct {
	Data       []projections.PaymentSummary `json:"data"`
	NextCursor string                       `json:"nextCursor,omitempty"`
	PrevCursor string                       `json:"prevCursor,omitempty"`
}

// ListPayments serves GET /payments.
func (h *Handlers) ListPayments(c *request.Call) (any, error) {
	query := c.Query
	filter := paymentFilter(query)
	cursors := c.Cursors("payments", filter)
	from, err := cursors.Place(query.Get("cursor"))
	if err != nil {
		return nil, err // listRules have seen it
	}
	found, err := h.Reader.ListPayments(c.Ctx, c.Merchant.ID, filter, from, request.Limit(query))
	if err != nil {
		return nil, err
	}
	return paymentList{Data: found.Data, NextCursor: cursors.Text(found.Older), PrevCursor: cursors.Text(found.Newer)}, nil
}

// paymentFilter reads the filters of D11, as far as they are valid.
func paymentFilter(query url.Values) projections.PaymentFilter {
	several := func(name string) []string { return request.Several(query, name) }
	return projections.PaymentFilter{
		Statuses: several("status"), MethodTypes: several("payment_method_type"), Processors: several("processor"),
		Currencies: several("currency_code"), CustomerIDs: several("customer_id"), MerchantIDs: several("merchant_id"),
		Emails: several("customer_email_address"), Last4Digits: several("last_4_digits"), OrderID: query.Get("order_id"),
		WalletEmails: slices.Concat(several("paypal_email"), several("klarna_email")),
		From:         request.Read(query, "from_date", validation.ParseTime), To: request.Read(query, "to_date", validation.ParseTime),
		MinAmount: request.Read(query, "min_amount", parseAmount), MaxAmount: request.Read(query, "max_amount", parseAmount),
	}
}

func parseAmount(text string) (domain.Amount, error) {
	n, err := strconv.ParseInt(text, 10, validation.AmountBits)
	return domain.Amount(n), err
}

// listRules: what the parameters of D11 are to one another.
func listRules(v *validation.Violations, c *request.Call) {
	filter := paymentFilter(c.Query)
	if filter.From != nil && filter.To != nil && filter.From.After(*filter.To) {
		v.Add("$.from_date", "must not be after to_date")
	}
	if filter.MinAmount != nil && filter.MaxAmount != nil && *filter.MinAmount > *filter.MaxAmount {
		v.Add("$.min_amount", "must not be above max_amount")
	}
	if _, err := c.Cursors("payments", filter).Place(c.Query.Get("cursor")); err != nil {
		v.Add("$.cursor", "is not a cursor of this list")
	}
}
