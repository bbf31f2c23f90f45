package httpapi

import (
	"payledger/domain"
	"payledger/domain/payment"
	"payledger/eventstore/commands"
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

// payInCheckout: POST /checkout/payments. All but the token comes from the session.
func payInCheckout(c *call) (any, error) {
	key, err := idempotencyKey(c.r.Header)
	if err != nil {
		return nil, err
	}
	body, err := decode[checkoutPaymentRequest](c)
	if err != nil {
		return nil, err
	}
	made, err := c.api.Commands.CreatePayment(c.ctx, c.caller(), commands.PaymentInput{
		Token: body.PaymentMethodToken, Session: c.session, IdempotencyKey: key, Shown: body.shown(),
	})
	if err != nil {
		return nil, err
	}
	return c.renderForCheckout(made)
}

// getCheckoutPayment: GET /checkout/payments/{id}.
func getCheckoutPayment(c *call) (any, error) {
	found, err := c.paymentOfSession()
	if err != nil {
		return nil, err
	}
	return c.renderForCheckout(found)
}

// resumeInCheckout: POST /checkout/payments/{id}/resume. What is not finished in time is refused with
// NoActionsToHandle, which is 202 (D8).
func resumeInCheckout(c *call) (any, error) {
	body, err := decode[resumeRequest](c)
	if err != nil {
		return nil, err
	}
	if _, err := c.paymentOfSession(); err != nil {
		return nil, err
	}
	action, outcome := c.resumedAction(body.ResumeToken)
	after, err := c.api.Commands.Resume(c.ctx, c.caller(), commands.ResumeInput{
		Payment: c.paymentID(), Action: action, Outcome: outcome,
	})
	if err != nil {
		return nil, err
	}
	return c.renderForCheckout(after)
}

// paymentOfSession reads the payment of the path. One of another session is as unknown as one that is not there.
func (c *call) paymentOfSession() (payment.State, error) {
	found, err := c.api.Reader.Payment(c.ctx, c.merchant.ID, c.paymentID())
	if err == nil && found.Session != c.session {
		err = payment.Unknown()
	}
	return found, err
}

func (c *call) renderForCheckout(p payment.State) (any, error) {
	token, err := c.api.signActionToken(p)
	if err != nil {
		return nil, err
	}
	return checkoutPayment{p.ID, p.Status(), paymentjson.RenderAction(p.RequiredAction(), token)}, nil
}
