package payments

import (
	"slices"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore/commands/payments"
	"payledger/httpapi/clienttoken"
	"payledger/httpapi/request"
	"payledger/projections/paymentjson"
)

// ShownCards is the greatest number of saved cards that a checkout shows (D22).
const ShownCards = 20

type checkoutConfiguration struct {
	Session               sessionContent `json:"session"`
	PaymentMethods        []methodOffer  `json:"paymentMethods"`
	VaultedPaymentMethods []vaulted      `json:"vaultedPaymentMethods"` // of the session's customer, of networks that the session allows (D21)
	CaptureVaultedCardCVV bool           `json:"captureVaultedCardCvv"` // false: a vaulted card pays without its CVV
	Env                   string         `json:"env"`
	CoreURL               string         `json:"coreUrl"`
	PciURL                string         `json:"pciUrl"`
	HasMore               bool           `json:"hasMore"` // the customer has more vaulted methods than these (D22)
}

type methodOffer struct {
	Type string `json:"type"` // paymentMethodType
}

// GetConfiguration serves GET /checkout/configuration, from the customer's browser.
func (h *Handlers) GetConfiguration(c *request.Call) (any, error) {
	s, err := h.Commands.Session(c.Ctx, c.Merchant.ID, c.Session)
	if err != nil {
		return nil, err
	}
	content, err := h.sessionContent(c, s)
	if err != nil {
		return nil, err
	}
	cards, more := []vaulted{}, false
	if s.CustomerID != "" {
		var found []instrument.State
		found, more, err = h.Reader.NewestInstruments(c.Ctx, c.Merchant.ID, s.CustomerID, ShownCards, func(i instrument.State) bool {
			return s.Method.Takes(i.Card.Network)
		})
		if err == nil {
			cards, err = h.vaultedOf(c, found, s.CustomerID)
		}
		if err != nil {
			return nil, err
		}
	}
	base := h.Tokens.Base()
	return checkoutConfiguration{
		Session: content, PaymentMethods: []methodOffer{{instrument.MethodCard}}, VaultedPaymentMethods: cards, HasMore: more,
		Env: clienttoken.Environments[h.Environment], CoreURL: base, PciURL: base,
	}, nil
}

type checkoutPayment struct {
	ID             domain.PaymentID            `json:"id"`
	Status         payment.Status              `json:"status"`
	RequiredAction *paymentjson.RequiredAction `json:"requiredAction,omitempty"`
	DeclineReason  string                      `json:"declineReason,omitempty"`
}

// tellable are the reasons of a decline that a customer may learn, and can do something about: an
// issuer wants no other one told to the holder of the card (D13).
var tellable = []string{"INSUFFICIENT_FUNDS", "EXPIRED_CARD"}

// declineReason returns why a payment was declined; "" if that is not for its customer.
func declineReason(p payment.State) string {
	reason := p.StatusReason()
	if p.Status() != payment.StatusDeclined || reason == nil || !slices.Contains(tellable, reason.Decline.Code) {
		return ""
	}
	return reason.Decline.Code
}

type checkoutPaymentRequest struct {
	PaymentMethodToken domain.Token `json:"paymentMethodToken"`
	shownPrice
}

// shownPrice is the price that the customer agreed to (D12): both fields or none.
type shownPrice struct {
	Amount       *domain.Amount  `json:"amount"`
	CurrencyCode domain.Currency `json:"currencyCode"`
}

func (p shownPrice) price() *domain.Price {
	if p.Amount == nil {
		return nil
	}
	return &domain.Price{Amount: *p.Amount, Currency: p.CurrencyCode}
}

// PayInCheckout serves POST /checkout/payments. The session supplies every field of the payment
// except the token.
func (h *Handlers) PayInCheckout(c *request.Call, body checkoutPaymentRequest) (any, error) {
	key, err := request.IdempotencyKey(c.Header)
	if err != nil {
		return nil, err
	}
	made, err := h.Commands.CreatePayment(c.Ctx, c.Caller(), payments.PaymentInput{
		Token: body.PaymentMethodToken, Session: c.Session, IdempotencyKey: key, Shown: body.price(),
	})
	return h.answerCheckout(made, err)
}

// GetCheckoutPayment serves GET /checkout/payments/{id}.
func (h *Handlers) GetCheckoutPayment(c *request.Call) (any, error) {
	return h.answerCheckout(h.paymentOfSession(c))
}

// ResumeInCheckout serves POST /checkout/payments/{id}/resume; 202 with NoActionsToHandle as in
// ResumePayment (D8).
func (h *Handlers) ResumeInCheckout(c *request.Call, body resumeRequest) (any, error) {
	if _, err := h.paymentOfSession(c); err != nil {
		return nil, err
	}
	action, outcome := h.Tokens.ReadResume(body.ResumeToken, c.Merchant.ID, paymentID(c))
	return h.answerCheckout(h.Commands.Resume(c.Ctx, c.Caller(), payments.ResumeInput{
		Payment: paymentID(c), Action: action, Outcome: outcome,
	}))
}

// paymentOfSession reads the payment of the path. A payment of another session has the error of an
// unknown payment.
func (h *Handlers) paymentOfSession(c *request.Call) (payment.State, error) {
	found, err := h.Reader.Payment(c.Ctx, c.Merchant.ID, paymentID(c))
	if err == nil && found.Session != c.Session {
		err = payment.NotFound()
	}
	return found, err
}

func (h *Handlers) answerCheckout(p payment.State, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	token, err := h.Tokens.SignAction(p)
	return customersView(p, token), err
}

// customersView renders a payment for its customer, with the token of the action that it waits for.
func customersView(p payment.State, token string) checkoutPayment {
	return checkoutPayment{p.ID, p.Status(), paymentjson.RenderAction(p.RequiredAction(), token), declineReason(p)}
}

type actionRequest struct {
	Outcome processor.Outcome `json:"outcome"`
}

type actionAnswer struct {
	ResumeToken string           `json:"resumeToken"`
	Payment     *checkoutPayment `json:"payment,omitempty"` // if the action has ended
}

// CompleteAction serves POST /required-actions/complete, from the customer's browser, which gives
// the resume token to the merchant. It records nothing: the token reports that the action ended. A
// browser may declare the outcome in the sandbox only (D12). A customer may come back after the
// processor's notification has ended the action: the answer then has the payment as it is now.
func (h *Handlers) CompleteAction(c *request.Call, body actionRequest) (any, error) {
	found, err := h.Reader.Payment(c.Ctx, c.Merchant.ID, c.Action.Payment)
	if err != nil {
		return nil, err
	}
	required, ended := found.RequiredAction(), found.EndedAction(c.Action.Revision)
	if ended != nil {
		required = ended
	}
	if required == nil || required.Revision != c.Action.Revision {
		refusal := domain.Refuse(domain.KindConflict, domain.ReasonInvalidPaymentStatus, "The payment does not wait for this action any more.")
		refusal.Payment, refusal.Status = found.ID, string(found.Status())
		return nil, refusal
	}
	var answer actionAnswer
	if answer.ResumeToken, err = h.Tokens.SignResume(found, required, body.Outcome); ended != nil {
		now := customersView(found, "")
		answer.Payment = &now
	}
	return answer, err
}
