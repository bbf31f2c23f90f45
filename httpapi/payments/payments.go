package payments

import (
	"errors"
	"slices"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/eventstore/commands"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections/history"
	"payledger/projections/paymentjson"
)

// paymentRequest is the body of POST /payments (D5).
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
	Expand             []string        `json:"expand"`
}

// expandEvents is the one thing that can be expanded (§4).
const expandEvents = "transactions.events"

// CreatePayment serves POST /payments.
func (h *Handlers) CreatePayment(c *request.Call) (any, error) {
	key, err := request.IdempotencyKey(c.Header)
	if err != nil {
		return nil, err
	}
	body, err := request.Decode[paymentRequest](c)
	if err != nil {
		return nil, err
	}
	made, err := h.Commands.CreatePayment(c.Ctx, c.Caller(), commands.PaymentInput{
		Token: body.PaymentMethodToken, OrderID: body.OrderID, CustomerID: body.CustomerID, Currency: body.CurrencyCode,
		Amount: body.Amount, Order: body.Order, Customer: body.Customer.customer(), Metadata: request.Integers(body.Metadata),
		Method: validation.Compact(body.PaymentMethod), IdempotencyKey: key,
	})
	if err != nil {
		return nil, err
	}
	return h.renderPayment(c, made, slices.Contains(body.Expand, expandEvents))
}

// GetPayment serves GET /payments/{id}.
func (h *Handlers) GetPayment(c *request.Call) (any, error) {
	found, err := h.Reader.Payment(c.Ctx, c.Merchant.ID, domain.PaymentID(c.Vars["id"]))
	if err != nil {
		return nil, err
	}
	// c.Merchant comes from the views and may be older than the payment; its settings are read from the store.
	if c.Merchant.Settings, err = h.Reader.Settings(c.Ctx, c.Merchant.ID); err != nil {
		return nil, err
	}
	return h.renderPayment(c, found, c.Query.Get("expand") == expandEvents)
}

func (h *Handlers) renderPayment(c *request.Call, p payment.State, events bool) (any, error) {
	personal, err := h.Reader.Personal(c.Ctx, p.Details().Personal)
	if err != nil {
		return nil, err
	}
	action, err := h.Tokens.SignAction(p)
	if err != nil {
		return nil, err
	}
	return paymentjson.Render(p, personal, paymentjson.Options{
		Events: events, First6Digits: c.Merchant.Settings.First6Digits, ActionToken: action,
	}), nil
}

// GetPaymentEvents serves GET /payments/{id}/events, the payment's history as an auditor reads it (I1).
func (h *Handlers) GetPaymentEvents(c *request.Call) (any, error) {
	query := c.Query
	at, err := history.ParseAt(query.Get("at"))
	if err != nil {
		return nil, err // queryRules have seen it
	}
	part := history.Part{At: at, After: uint64(request.Integer(query, "after", 0)), Limit: request.Integer(query, "limit", 0)}
	return request.Listing(func(element func(any) error) (uint64, error) {
		next, err := h.History.Payment(c.Ctx, c.Merchant.ID, domain.PaymentID(c.Vars["id"]), part, func(e history.Entry) error { return element(e) })
		if errors.Is(err, history.ErrNotThere) {
			err = domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "The payment has no such revision, or did not exist at that time.")
		}
		return next, err
	}), nil
}
