package payments

import (
	"slices"

	"payledger/domain/instrument"
	"payledger/httpapi/clienttoken"
	"payledger/httpapi/request"
)

// configurationAnswer is what a checkout page needs (D12).
type configurationAnswer struct {
	Session               sessionContent `json:"session"`
	PaymentMethods        []methodOffer  `json:"paymentMethods"`
	VaultedPaymentMethods []vaulted      `json:"vaultedPaymentMethods"` // of the session's customer, of networks that the session allows (D21)
	CaptureVaultedCardCVV bool           `json:"captureVaultedCardCvv"` // a vaulted card pays without its CVV
	Env                   string         `json:"env"`
	CoreURL               string         `json:"coreUrl"`
	PciURL                string         `json:"pciUrl"`
}

// methodOffer is a way to pay that the customer may choose.
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
	kept := []vaulted{}
	if s.CustomerID != "" {
		if kept, err = h.vaultedOf(c, s.CustomerID); err != nil {
			return nil, err
		}
		kept = slices.DeleteFunc(kept, func(v vaulted) bool { return !s.Method.Takes(v.PaymentMethodData.Network) })
	}
	base := h.Tokens.Base()
	return configurationAnswer{
		Session: content, PaymentMethods: []methodOffer{{instrument.MethodCard}}, VaultedPaymentMethods: kept,
		Env: clienttoken.Environments[h.Environment], CoreURL: base, PciURL: base,
	}, nil
}
