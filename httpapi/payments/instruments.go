package payments

import (
	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/processor"
	"payledger/eventstore/commands/instruments"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections/paymentjson"
)

type instrumentRequest struct {
	PaymentInstrument processor.Card  `json:"paymentInstrument"`
	ProcessorToken    *processorToken `json:"processorToken"`
	PaymentFlow       string          `json:"paymentFlow"`
}

// processorToken is a card that was entered in a form of a processor.
type processorToken struct {
	Processor       processor.Name `json:"processor"`
	Token           string         `json:"token"`
	Network         domain.Network `json:"network"`
	Last4Digits     string         `json:"last4Digits"`
	ExpirationMonth string         `json:"expirationMonth"`
	ExpirationYear  string         `json:"expirationYear"`
	CardholderName  string         `json:"cardholderName"`
}

// input returns the request as a command.
func (r instrumentRequest) input(in domain.SessionID) instruments.TokenizeInput {
	input := instruments.TokenizeInput{Session: in, Card: r.PaymentInstrument, Vault: r.PaymentFlow == flowVault}
	if t := r.ProcessorToken; t != nil {
		input.Processor, input.Card = t.Processor, processor.Card{Token: t.Token, CardholderName: t.CardholderName}
		input.Shown = domain.Card{
			Last4Digits: t.Last4Digits, ExpirationMonth: t.ExpirationMonth, ExpirationYear: t.ExpirationYear, Network: t.Network,
		}
	}
	return input
}

const flowVault = "VAULT"

// newInstrument is a new token (D12). It has the card's data under two names.
type newInstrument struct {
	Token                      domain.Token             `json:"token"`
	TokenType                  string                   `json:"tokenType"`
	AnalyticsID                string                   `json:"analyticsId"`
	IsVaulted                  bool                     `json:"isVaulted"`
	PaymentInstrumentType      string                   `json:"paymentInstrumentType"`
	PaymentMethodType          string                   `json:"paymentMethodType"`
	PaymentInstrumentData      paymentjson.CardData     `json:"paymentInstrumentData"`
	PaymentMethodData          paymentjson.CardData     `json:"paymentMethodData"`
	ThreeDSecureAuthentication paymentjson.ThreeDSecure `json:"threeDSecureAuthentication"`
}

// threeDSNotPerformed is the threeDSecureResponseCode of a new token: tokenization sends nothing to
// the issuer.
const threeDSNotPerformed = "NOT_PERFORMED"

// CreateInstrument serves POST /payment-instruments, from the customer's browser.
func (h *Handlers) CreateInstrument(c *request.Call, body instrumentRequest) (any, error) {
	input := body.input(c.Session)
	made, err := h.Commands.Tokenize(c.Ctx, c.Caller(), input)
	card := paymentjson.RenderCard(made.Card, nil, input.Card.CardholderName, c.Merchant.Settings.First6Digits)
	return newInstrument{
		Token: made.Token, TokenType: made.Type, AnalyticsID: made.AnalyticsID, IsVaulted: made.Vaulted(),
		PaymentInstrumentType: instrument.MethodCard, PaymentMethodType: instrument.MethodCard,
		PaymentInstrumentData: card, PaymentMethodData: card,
		ThreeDSecureAuthentication: paymentjson.ThreeDSecure{ResponseCode: threeDSNotPerformed},
	}, err
}

// vaulted is a payment instrument that is vaulted for a customer (D5). It has the card's data under
// two names.
type vaulted struct {
	Token                 domain.Token         `json:"token"`
	TokenType             string               `json:"tokenType"`
	CustomerID            string               `json:"customerId"`
	IsVaulted             bool                 `json:"isVaulted"`
	IsVerified            bool                 `json:"isVerified"`
	Default               bool                 `json:"default"`
	CreatedAt             paymentjson.Time     `json:"createdAt"`
	Deleted               bool                 `json:"deleted"`
	DeletedAt             *paymentjson.Time    `json:"deletedAt,omitempty"`
	AnalyticsID           string               `json:"analyticsId"`
	Processor             processor.Name       `json:"processor,omitempty"` // the card is a token of this processor, and pays there only
	PaymentMethodType     string               `json:"paymentMethodType"`
	PaymentMethodData     paymentjson.CardData `json:"paymentMethodData"`
	PaymentInstrumentType string               `json:"paymentInstrumentType"`
	PaymentInstrumentData paymentjson.CardData `json:"paymentInstrumentData"`
}

// ListInstruments serves GET /payment-instruments: a page of the vaulted instruments of a customer
// (D22).
func (h *Handlers) ListInstruments(c *request.Call) (any, error) {
	if err := c.ShowLag(h.Reader); err != nil {
		return nil, err
	}
	customer := c.Query.Get("customer_id")
	page, err := h.Reader.ListInstruments(c.Ctx, c.Merchant.ID, customer, c.From, request.Limit(c.Query))
	if err != nil {
		return nil, err
	}
	data, err := h.vaultedOf(c, page.Data, customer)
	return request.List[vaulted]{Data: data, NextCursor: instrumentCursors(c).Text(page.Next)}, err
}

func instrumentCursors(c *request.Call) request.Cursors {
	return c.Cursors("instruments", c.Query.Get("customer_id"))
}

func instrumentListRules(v *validation.Violations, c *request.Call) { instrumentCursors(c).Check(v, c) }

// vaultedOf renders instruments of a customer.
func (h *Handlers) vaultedOf(c *request.Call, found []instrument.State, customer string) ([]vaulted, error) {
	byDefault, err := h.Reader.DefaultInstrument(c.Ctx, c.Merchant.ID, customer)
	if err != nil {
		return nil, err
	}
	data := make([]vaulted, len(found))
	for i, s := range found {
		if data[i], err = h.renderVaulted(c, s, byDefault); err != nil {
			return nil, err
		}
	}
	return data, nil
}

type vaultRequest struct {
	CustomerID string `json:"customerId"`
	Verify     bool   `json:"verify"`
}

// VaultInstrument serves POST /payment-instruments/{token}/vault.
func (h *Handlers) VaultInstrument(c *request.Call, body vaultRequest) (any, error) {
	vaulted, err := h.Commands.VaultInstrument(c.Ctx, c.Caller(), instruments.VaultInput{
		Token: token(c), CustomerID: body.CustomerID, Verify: body.Verify,
	})
	return h.answerVaulted(c, vaulted, err)
}

// MakeDefault serves POST /payment-instruments/{token}/default.
func (h *Handlers) MakeDefault(c *request.Call) (any, error) {
	changed, err := h.Commands.MakeDefault(c.Ctx, c.Caller(), token(c))
	return h.answerVaulted(c, changed, err)
}

// DeleteInstrument serves DELETE /payment-instruments/{token}.
func (h *Handlers) DeleteInstrument(c *request.Call) (any, error) {
	deleted, err := h.Commands.DeleteInstrument(c.Ctx, c.Caller(), token(c))
	return h.answerVaulted(c, deleted, err)
}

func token(c *request.Call) domain.Token { return domain.Token(c.Vars["token"]) }

// answerVaulted returns a changed instrument, or err. The default depends on the customer's other
// instruments.
func (h *Handlers) answerVaulted(c *request.Call, s instrument.State, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	byDefault, err := h.Reader.DefaultInstrument(c.Ctx, c.Merchant.ID, s.CustomerID)
	if err != nil {
		return nil, err
	}
	return h.renderVaulted(c, s, byDefault)
}

func (h *Handlers) renderVaulted(c *request.Call, s instrument.State, byDefault domain.Token) (vaulted, error) {
	personal, err := h.Reader.Personal(c.Ctx, s.Personal)
	if err != nil {
		return vaulted{}, err
	}
	card := paymentjson.RenderCard(s.Card, nil, personal.CardholderName, c.Merchant.Settings.First6Digits)
	return vaulted{
		Token: s.Token, TokenType: s.Type, CustomerID: s.CustomerID, IsVaulted: s.Vaulted() && s.Good(), IsVerified: s.Verified,
		Default: s.Token == byDefault, CreatedAt: paymentjson.Time{Time: s.CreatedAt},
		Deleted: s.DeletedAt != nil, DeletedAt: request.Time(s.DeletedAt), AnalyticsID: s.AnalyticsID, Processor: s.Processor,
		PaymentMethodType: instrument.MethodCard, PaymentMethodData: card,
		PaymentInstrumentType: instrument.MethodCard, PaymentInstrumentData: card,
	}, nil
}
