package httpapi

import (
	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/eventstore/commands"
	"payledger/projections/paymentjson"
)

// vaulted is a payment instrument that is kept for a customer (D5); the card stands in it under two names.
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
	PaymentMethodType     string               `json:"paymentMethodType"`
	PaymentMethodData     paymentjson.CardData `json:"paymentMethodData"`
	PaymentInstrumentType string               `json:"paymentInstrumentType"`
	PaymentInstrumentData paymentjson.CardData `json:"paymentInstrumentData"`
}

// listInstruments: GET /payment-instruments, the vaulted ones of a customer.
func listInstruments(c *call) (any, error) {
	data, err := c.vaultedOf(c.r.URL.Query().Get("customer_id"))
	return list[vaulted]{Data: data}, err
}

func (c *call) vaultedOf(customer string) ([]vaulted, error) {
	found, byDefault, err := c.api.Reader.Instruments(c.ctx, c.merchant.ID, customer)
	if err != nil {
		return nil, err
	}
	data := make([]vaulted, len(found))
	for i, s := range found {
		if data[i], err = c.renderVaulted(s, byDefault); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// vaultRequest is the body of POST /payment-instruments/{token}/vault.
type vaultRequest struct {
	CustomerID string `json:"customerId"`
	Verify     bool   `json:"verify"`
}

// vaultInstrument: POST /payment-instruments/{token}/vault.
func vaultInstrument(c *call) (any, error) {
	body, err := decode[vaultRequest](c)
	if err != nil {
		return nil, err
	}
	kept, err := c.api.Commands.VaultInstrument(c.ctx, c.caller(), commands.VaultInput{
		Token: c.token(), CustomerID: body.CustomerID, Verify: body.Verify,
	})
	return c.answerVaulted(kept, err)
}

// makeDefault: POST /payment-instruments/{token}/default.
func makeDefault(c *call) (any, error) {
	return c.answerVaulted(c.api.Commands.MakeDefault(c.ctx, c.caller(), c.token()))
}

// deleteInstrument: DELETE /payment-instruments/{token}.
func deleteInstrument(c *call) (any, error) {
	return c.answerVaulted(c.api.Commands.DeleteInstrument(c.ctx, c.caller(), c.token()))
}

func (c *call) token() domain.Token { return domain.Token(c.vars["token"]) }

// answerVaulted answers the instrument that a command has changed. Which is the default, the others tell.
func (c *call) answerVaulted(s instrument.State, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	_, byDefault, err := c.api.Reader.Instruments(c.ctx, c.merchant.ID, s.CustomerID)
	if err != nil {
		return nil, err
	}
	return c.renderVaulted(s, byDefault)
}

func (c *call) renderVaulted(s instrument.State, byDefault domain.Token) (vaulted, error) {
	personal, err := c.api.Reader.Personal(c.ctx, s.Personal)
	if err != nil {
		return vaulted{}, err
	}
	card := paymentjson.RenderCard(s.Card, nil, personal.CardholderName, c.merchant.Settings.First6Digits)
	out := vaulted{
		Token: s.Token, TokenType: s.Type, CustomerID: s.CustomerID, IsVaulted: s.Vaulted() && s.Good(), IsVerified: s.Verified,
		Default: s.Token == byDefault, CreatedAt: paymentjson.Time{Time: s.CreatedAt}, AnalyticsID: s.AnalyticsID,
		PaymentMethodType: instrument.MethodCard, PaymentMethodData: card,
		PaymentInstrumentType: instrument.MethodCard, PaymentInstrumentData: card,
	}
	if s.DeletedAt != nil {
		out.Deleted, out.DeletedAt = true, &paymentjson.Time{Time: *s.DeletedAt}
	}
	return out, nil
}
