package httpapi

import (
	"slices"

	"payledger/domain/instrument"
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

// getConfiguration: GET /checkout/configuration, from the customer's browser.
func getConfiguration(c *call) (any, error) {
	s, err := c.api.Commands.Session(c.ctx, c.merchant.ID, c.session)
	if err != nil {
		return nil, err
	}
	content, err := c.sessionContent(s)
	if err != nil {
		return nil, err
	}
	kept := []vaulted{}
	if s.CustomerID != "" {
		if kept, err = c.vaultedOf(s.CustomerID); err != nil {
			return nil, err
		}
		kept = slices.DeleteFunc(kept, func(v vaulted) bool { return !s.Method.Takes(v.PaymentMethodData.Network) })
	}
	base := c.api.base()
	return configurationAnswer{
		Session: content, PaymentMethods: []methodOffer{{instrument.MethodCard}}, VaultedPaymentMethods: kept,
		Env: tokenEnvironments[c.api.Environment], CoreURL: base, PciURL: base,
	}, nil
}
