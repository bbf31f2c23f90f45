package payments

import (
	"payledger/domain"
	"payledger/domain/payment"
	"payledger/eventstore/commands"
	"payledger/httpapi/request"
	"payledger/projections/paymentjson"
)

// checkoutPayment is a payment as the customer's browser sees it (D12): nothing of what only the merchant knows.
type checkoutPayment struct {
	ID             domain.PaymentID            `json:"id"`
	Status         payment.Status              `json:"status"`
	RequiredAction *paymentjson.RequiredAction `json:"requiredAction,omitempty"`
}

// checkoutPaymentRequest is the body of POST /checkout/payments.
type checkoutPaymentRequest struct {
	PaymentMethodToken domain.Token `json:"paymentMethodToken"`
	seenPrice
}

// seenPrice is what the customer saw when they agreed to pay (D12): both fields or none.
type seenPrice struct {
	Amount       *domain.Amount  `json:"amount"`
	CurrencyCode domain.Currency `json:"currencyCode"`
}

// shown gives the price that the customer saw; nil when the page did not tell.
func (p seenPrice) shown() *domain.Price {
	if p.Amount == nil {
		return nil
	}
	return &domain.Price{Amount: *p.Amount, Currency: p.CurrencyCode}
}

// PayInCheckout serves POST /checkout/payments. All but the token comes from the session.
func (h *Handlers) PayInCheckout(c *request.Call) (any, error) {
	key, err := request.IdempotencyKey(c.Header)
	if err != nil {
		return nil, err
	}
	body, err := request.Decode[checkoutPaymentRequest](c)
	if err != nil {
		return nil, err
	}
	made, err := h.Commands.CreatePayment(c.Ctx, c.Caller(), commands.PaymentInput{
		Token: body.PaymentMethodToken, Session: c.Session, IdempotencyKey: key, Shown: body.shown(),
	})
	if err != nil {
		return nil, err
	}
	return h.renderForCheckout(c, made)
}

// GetCheckoutPayment serves GET /checkout/payments/{id}.
func (h *Handlers) GetCheckoutPayment(c *request.Call) (any, error) {
	found, err := h.paymentOfSession(c)
	if err != nil {
		return nil, err
	}
	return h.renderForCheckout(c, found)
}

// ResumeInCheckout serves POST /checkout/payments/{id}/resume. What is not finished in time is refused with
// NoActionsToHandle, which is 202 (D8).
func (h *Handlers) ResumeInCheckout(c *request.Call) (any, error) {
	body, err := request.Decode[resumeRequest](c)
	if err != nil {
		return nil, err
	}
	if _, err := h.paymentOfSession(c); err != nil {
		return nil, err
	}
	action, outcome := h.Tokens.ReadResume(body.ResumeToken, c.Merchant.ID, paymentID(c))
	after, err := h.Commands.Resume(c.Ctx, c.Caller(), commands.ResumeInput{
		Payment: paymentID(c), Action: action, Outcome: outcome,
	})
	if err != nil {
		return nil, err
	}
	return h.renderForCheckout(c, after)
}

// paymentOfSession reads the payment of the path. One of another session is as unknown as one that is not there.
func (h *Handlers) paymentOfSession(c *request.Call) (payment.State, error) {
	found, err := h.Reader.Payment(c.Ctx, c.Merchant.ID, paymentID(c))
	if err == nil && found.Session != c.Session {
		err = payment.Unknown()
	}
	return found, err
}

func (h *Handlers) renderForCheckout(c *request.Call, p payment.State) (any, error) {
	token, err := h.Tokens.SignAction(p)
	if err != nil {
		return nil, err
	}
	return checkoutPayment{p.ID, p.Status(), paymentjson.RenderAction(p.RequiredAction(), token)}, nil
}
