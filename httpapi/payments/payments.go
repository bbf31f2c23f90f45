package payments

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands/payments"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections"
	"payledger/projections/history"
	"payledger/projections/paymentjson"
)

type paymentRequest struct {
	PaymentMethodToken domain.Token    `json:"paymentMethodToken"`
	OrderID            string          `json:"orderId"`
	CurrencyCode       domain.Currency `json:"currencyCode"`
	Amount             *domain.Amount  `json:"amount"`
	Order              *domain.Order   `json:"order"`
	CustomerID         string          `json:"customerId"`
	Customer           *customerBody   `json:"customer"`
	Metadata           domain.Metadata `json:"metadata"`
	PaymentMethod      session.Method  `json:"paymentMethod"`
	expansion
}

// expandEvents is the only value of expand (§4).
const expandEvents = "transactions.events"

type expansion struct {
	Expand []string `json:"expand"`
}

func (e expansion) events() bool { return slices.Contains(e.Expand, expandEvents) }

// CreatePayment serves POST /payments.
func (h *Handlers) CreatePayment(c *request.Call, body paymentRequest) (any, error) {
	key, err := request.IdempotencyKey(c.Header)
	if err != nil {
		return nil, err
	}
	made, err := h.Commands.CreatePayment(c.Ctx, c.Caller(), payments.PaymentInput{
		Token: body.PaymentMethodToken, OrderID: body.OrderID, CustomerID: body.CustomerID, Currency: body.CurrencyCode,
		Amount: body.Amount, Order: body.Order, Customer: body.Customer.customer(), Metadata: request.Integers(body.Metadata),
		Method: validation.Compact(body.PaymentMethod), IdempotencyKey: key,
	})
	return h.answer(c, made, err, body.events())
}

// GetPayment serves GET /payments/{id}.
func (h *Handlers) GetPayment(c *request.Call) (any, error) {
	if err := c.ShowStale(h.Reader, h.Now()); err != nil {
		return nil, err
	}
	found, err := h.Reader.Payment(c.Ctx, c.Merchant.ID, paymentID(c))
	if err != nil {
		return nil, err
	}
	c.Revision = found.Revision
	c.ShowRevision(found.Revision)
	// c.Merchant was read before the payment: the settings are read again, after it.
	c.Merchant.Settings, err = h.Reader.Settings(c.Ctx, c.Merchant.ID)
	return h.answer(c, found, err, c.Query.Get("expand") == expandEvents)
}

func (h *Handlers) answer(c *request.Call, p payment.State, err error, events bool) (any, error) {
	if err != nil {
		return nil, err
	}
	if eventstore.Demands(c.Ctx, eventstore.Applied) || !cacheable(p) { // without personal data, or with a new token
		return h.render(c, p, events)
	}
	key := renderedKey{c.Merchant.ID, p.ID, events, c.Merchant.Settings.First6Digits}
	erasures := h.Reader.Erasures() // before the personal data is read
	if body := h.rendered.get(key, p.Revision, erasures); body != nil {
		return body, nil
	}
	shown, err := h.render(c, p, events)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(shown)
	if err != nil {
		return nil, fmt.Errorf("httpapi: payment %s: %w", p.ID, err)
	}
	h.rendered.put(key, rendering{p.Revision, body}, erasures)
	return json.RawMessage(body), nil
}

func (h *Handlers) render(c *request.Call, p payment.State, events bool) (paymentjson.Payment, error) {
	personal, err := h.Reader.Personal(c.Ctx, p.Details().Personal)
	if err != nil {
		return paymentjson.Payment{}, err
	}
	action, err := h.Tokens.SignAction(p)
	if err != nil {
		return paymentjson.Payment{}, err
	}
	return paymentjson.Render(p, personal, paymentjson.Options{
		Events: events, First6Digits: c.Merchant.Settings.First6Digits, ActionToken: action,
	}), nil
}

func paymentID(c *request.Call) domain.PaymentID { return domain.PaymentID(c.Vars["id"]) }

// maxPart is the size in bytes at which a part with a limit ends: each entry has the payment after
// it, which may be large.
const maxPart = 8 << 20

// GetPaymentEvents serves GET /payments/{id}/events, the payment's history as an auditor reads it
// (I1). Its webhooks need the scope of GET /webhook-deliveries, which has the same records (D2).
func (h *Handlers) GetPaymentEvents(c *request.Call) (any, error) {
	if slices.Contains(request.Several(c.Query, "expand"), history.ExpandWebhooks) && !c.Key.Allows(account.ScopeEventsRead) {
		return nil, domain.Refuse(domain.KindForbidden, domain.ReasonMissingScope,
			"The API key lacks the scope %s, which expand=%s needs.", account.ScopeEventsRead, history.ExpandWebhooks)
	}
	return h.GetManagedPaymentEvents(c)
}

// GetManagedPaymentEvents serves GET /management/payments/{id}/events. Its scope also shows the
// deliveries of webhooks at /management/webhook-deliveries.
func (h *Handlers) GetManagedPaymentEvents(c *request.Call) (any, error) {
	at, err := history.ParseAt(c.Query.Get("at"))
	if err != nil {
		return nil, err // not reached: the validation refuses it
	}
	part := history.Part{
		At: at, After: uint64(request.Integer(c.Query, "after", 0)), Limit: request.Integer(c.Query, "limit", 0),
		Expand: request.Several(c.Query, "expand"),
	}
	if err := c.ShowStale(h.Reader, h.Now()); err != nil {
		return nil, err
	}
	return request.Listing(func(element func(any) error) (uint64, error) {
		size := 0
		next, err := h.History.Payment(c.Ctx, c.Merchant.ID, paymentID(c), part, func(e history.Entry) error {
			if !c.Key.Allows(account.ScopeAccountRead) {
				e.HideAnswers()
			}
			text, err := json.Marshal(e)
			if err == nil {
				err = element(request.Written(text))
			}
			if size += len(text); err == nil && part.Limit > 0 && size >= maxPart {
				err = history.ErrFull
			}
			return err
		})
		return next, momentError(err)
	}), nil
}

// momentError returns the refusal of a moment that the payment does not have; any other error as it
// is.
func momentError(err error) error {
	text := "The payment has no such revision, or did not exist at that time."
	switch {
	case errors.Is(err, history.ErrFuture):
		text = "The time is in the future: the payment has no state of then yet."
	case !errors.Is(err, history.ErrNotThere):
		return err
	}
	refusal := domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "%s", text)
	refusal.Recovery = "Without at, the answer has every revision and its time."
	return refusal
}

type paymentList struct {
	Data       []projections.PaymentSummary `json:"data"`
	NextCursor string                       `json:"nextCursor,omitempty"`
	PrevCursor string                       `json:"prevCursor,omitempty"`
	Warnings   []request.Warning            `json:"warnings,omitempty"`
}

// ListPayments serves GET /payments.
func (h *Handlers) ListPayments(c *request.Call) (any, error) {
	if err := c.ShowLag(h.Reader); err != nil {
		return nil, err
	}
	reading, err := h.reading(c)
	if err != nil {
		return nil, err
	}
	filter := paymentFilter(reading.Query)
	cursors := c.Cursors("payments", filter)
	found, err := h.Reader.ListPayments(c.Ctx, c.Merchant.ID, filter, c.From, request.Limit(c.Query))
	next, previous := found.Older, found.Newer
	if filter.Oldest {
		next, previous = previous, next
	}
	return paymentList{
		Data: found.Data, NextCursor: cursors.Text(next), PrevCursor: cursors.Text(previous), Warnings: reading.Warnings(),
	}, err
}

func (h *Handlers) reading(c *request.Call) (request.Reading, error) {
	return c.Reading(paymentCursors(c), func(name, value string) (bool, error) {
		found, err := h.Reader.ListPayments(c.Ctx, c.Merchant.ID, paymentFilter(url.Values{name: {value}}), nil, 1)
		return len(found.Data) > 0, err
	})
}

type totalsAnswer struct {
	projections.Totals
	Warnings []request.Warning `json:"warnings,omitempty"`
}

// GetTotals serves GET /management/payment-totals: the totals of a list of payments (D20).
func (h *Handlers) GetTotals(c *request.Call) (any, error) {
	if err := c.ShowLag(h.Reader); err != nil {
		return nil, err
	}
	reading, err := h.reading(c)
	if err != nil {
		return nil, err
	}
	totals, err := h.Reader.TotalPayments(c.Ctx, c.Merchant.ID, paymentFilter(reading.Query), projections.TotalsMost)
	return totalsAnswer{totals, reading.Warnings()}, err
}

func paymentCursors(c *request.Call) func(url.Values) request.Cursors {
	return func(query url.Values) request.Cursors { return c.Cursors("payments", paymentFilter(query)) }
}

func paymentFilter(query url.Values) projections.PaymentFilter {
	several := func(name string) []string { return request.Several(query, name) }
	return projections.PaymentFilter{
		Statuses: several("status"), MethodTypes: several("payment_method_type"), Processors: several("processor"),
		Currencies: several("currency_code"), CustomerIDs: several("customer_id"), MerchantIDs: several("merchant_id"),
		Emails: several("customer_email_address"), Last4Digits: several("last_4_digits"), OrderID: query.Get("order_id"),
		TriedProcessors: several("tried_processor"), TriedResults: several("tried_result"),
		WalletEmails: slices.Concat(several("paypal_email"), several("klarna_email")),
		From:         request.Read(query, "from_date", validation.ParseTime), To: request.Read(query, "to_date", validation.ParseTime),
		MinAmount: request.Read(query, "min_amount", parseAmount), MaxAmount: request.Read(query, "max_amount", parseAmount),
		Oldest: query.Get("sort") == "oldest",
	}
}

func parseAmount(text string) (domain.Amount, error) {
	n, err := strconv.ParseInt(text, 10, validation.AmountBits)
	return domain.Amount(n), err
}

func listRules(v *validation.Violations, c *request.Call) {
	filter := paymentFilter(c.Query)
	if filter.From != nil && filter.To != nil && filter.From.After(*filter.To) {
		v.Add("$.from_date", "must not be after to_date")
	}
	if filter.MinAmount != nil && filter.MaxAmount != nil && *filter.MinAmount > *filter.MaxAmount {
		v.Add("$.min_amount", "must not be above max_amount")
	}
	c.CheckCursor(v, paymentCursors(c))
}
