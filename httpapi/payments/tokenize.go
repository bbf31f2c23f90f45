package payments

import (
	"payledger/domain/instrument"
	"payledger/domain/processor"
	"payledger/eventstore/commands"
	"payledger/httpapi/request"
	"payledger/projections/paymentjson"
)

// instrumentRequest is the body of POST /payment-instruments (D12).
type instrumentRequest struct {
	PaymentInstrument processor.Card `json:"paymentInstrument"`
	PaymentFlow       string         `json:"paymentFlow"`
}

// flowVault asks for the card to be vaulted as it is tokenized (D5).
const flowVault = "VAULT"

// instrumentAnswer is a new token (D12); the card stands in it under two names.
type instrumentAnswer struct {
	Token                      string                   `json:"token"`
	TokenType                  string                   `json:"tokenType"`
	AnalyticsID                string                   `json:"analyticsId"`
	IsVaulted                  bool                     `json:"isVaulted"`
	PaymentInstrumentType      string                   `json:"paymentInstrumentType"`
	PaymentMethodType          string                   `json:"paymentMethodType"`
	PaymentInstrumentData      paymentjson.CardData     `json:"paymentInstrumentData"`
	PaymentMethodData          paymentjson.CardData     `json:"paymentMethodData"`
	ThreeDSecureAuthentication paymentjson.ThreeDSecure `json:"threeDSecureAuthentication"`
}

// threeDSNotPerformed: tokenization asks no issuer (enums: threeDSecureResponseCode).
const threeDSNotPerformed = "NOT_PERFORMED"

// CreateInstrument serves POST /payment-instruments, from the customer's browser.
func (h *Handlers) CreateInstrument(c *request.Call) (any, error) {
	body, err := request.Decode[instrumentRequest](c)
	if err != nil {
		return nil, err
	}
	made, err := h.Commands.Tokenize(c.Ctx, c.Caller(), commands.TokenizeInput{
		Session: c.Session, Card: body.PaymentInstrument, Vault: body.PaymentFlow == flowVault,
	})
	if err != nil {
		return nil, err
	}
	card := paymentjson.RenderCard(made.Card, nil, body.PaymentInstrument.CardholderName, c.Merchant.Settings.First6Digits)
	return instrumentAnswer{
		Token: string(made.Token), TokenType: made.Type, AnalyticsID: made.AnalyticsID, IsVaulted: made.Vaulted(),
		PaymentInstrumentType: instrument.MethodCard, PaymentMethodType: instrument.MethodCard,
		PaymentInstrumentData: card, PaymentMethodData: card,
		ThreeDSecureAuthentication: paymentjson.ThreeDSecure{ResponseCode: threeDSNotPerformed},
	}, nil
}
