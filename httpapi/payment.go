package httpapi

import (
	"errors"
	"slices"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/eventstore/commands"
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

// createPayment: POST /payments.
func createPayment(c *call) (any, error) {
	key, err := idempotencyKey(c.r.Header)
	if err != nil {
		return nil, err
	}
	body, err := decode[paymentRequest](c)
	if err != nil {
		return nil, err
	}
	made, err := c.api.Commands.CreatePayment(c.ctx, c.caller(), commands.PaymentInput{
		Token: body.PaymentMethodToken, OrderID: body.OrderID, CustomerID: body.CustomerID, Currency: body.CurrencyCode,
		Amount: body.Amount, Order: body.Order, Customer: body.Customer.customer(), Metadata: integers(body.Metadata),
		Method: compact(body.PaymentMethod), IdempotencyKey: key,
	})
	if err != nil {
		return nil, err
	}
	return c.renderPayment(made, slices.Contains(body.Expand, expandEvents))
}

// getPayment: GET /payments/{id}.
func getPayment(c *call) (any, error) {
	found, err := c.api.Reader.Payment(c.ctx, c.merchant.ID, domain.PaymentID(c.vars["id"]))
	if err != nil {
		return nil, err
	}
	// c.merchant comes from the views and may be older than the payment; its settings are read from the store.
	if c.merchant.Settings, err = c.api.Reader.Settings(c.ctx, c.merchant.ID); err != nil {
		return nil, err
	}
	return c.renderPayment(found, c.expandsEvents())
}

func (c *call) renderPayment(p payment.State, events bool) (any, error) {
	personal, err := c.api.Reader.Personal(c.ctx, p.Details().Personal)
	if err != nil {
		return nil, err
	}
	action, err := c.api.signActionToken(p)
	if err != nil {
		return nil, err
	}
	return paymentjson.Render(p, personal, paymentjson.Options{
		Events: events, First6Digits: c.merchant.Settings.First6Digits, ActionToken: action,
	}), nil
}

// getPaymentEvents: GET /payments/{id}/events, the payment's history as an auditor reads it (I1).
func getPaymentEvents(c *call) (any, error) {
	query := c.r.URL.Query()
	at, err := history.ParseAt(query.Get("at"))
	if err != nil {
		return nil, err // queryRules have seen it
	}
	part := history.Part{At: at, After: uint64(integerOr(query, "after", 0)), Limit: integerOr(query, "limit", 0)}
	return listing(func(element func(any) error) (uint64, error) {
		next, err := c.api.History.Payment(c.ctx, c.merchant.ID, domain.PaymentID(c.vars["id"]), part, func(e history.Entry) error { return element(e) })
		if errors.Is(err, history.ErrNotThere) {
			err = domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "The payment has no such revision, or did not exist at that time.")
		}
		return next, err
	}), nil
}
