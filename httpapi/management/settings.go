package management

import (
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/httpapi/request"
)

// ListProcessors serves GET /management/processors.
func (h *Handlers) ListProcessors(c *request.Call) (any, error) {
	return request.Page(c, c.Merchant.Processors, func(p account.Processor) string { return string(p.Name) })
}

// ChangeProcessor serves PATCH /management/processors/{name}.
func (h *Handlers) ChangeProcessor(c *request.Call, in account.ChangeProcessor) (any, error) {
	in.Name = processor.Name(c.Vars["name"])
	changed, err := h.Commands.ChangeProcessor(c.Ctx, c.Caller(), in)
	return h.shown(c, changed, err)
}

// settingsAnswer has the settings. Without clientTokenTtl the default applies; without displayName
// customers read "the shop".
type settingsAnswer struct {
	CaptureMode    string `json:"captureMode"`
	ClientTokenTTL int64  `json:"clientTokenTtl,omitempty"`
	First6Digits   bool   `json:"first6Digits"`
	DisplayName    string `json:"displayName,omitempty"`

	RefuseRefundOfDisputed bool     `json:"refuseRefundOfDisputed"`
	CheckoutOrigins        []string `json:"checkoutOrigins,omitempty"`
}

// GetSettings serves GET /management/settings.
func (h *Handlers) GetSettings(c *request.Call) (any, error) {
	return renderSettings(c.Merchant.Settings), nil
}

// ChangeSettings serves PATCH /management/settings. null restores the default of clientTokenTtl and
// checkoutOrigins, and removes displayName.
func (h *Handlers) ChangeSettings(c *request.Call, in account.ChangeSettings) (any, error) {
	if _, sent := c.Body.Tree["clientTokenTtl"]; sent && in.ClientTokenTTL == nil {
		in.ClientTokenTTL = new(int64)
	}
	if _, sent := c.Body.Tree["displayName"]; sent && in.DisplayName == nil {
		in.DisplayName = new(string)
	}
	if _, sent := c.Body.Tree["checkoutOrigins"]; sent && in.CheckoutOrigins == nil {
		in.CheckoutOrigins = new([]string)
	}
	changed, err := h.Commands.ChangeSettings(c.Ctx, c.Caller(), in)
	return h.shown(c, renderSettings(changed), err)
}

func renderSettings(s account.Settings) settingsAnswer {
	return settingsAnswer{
		CaptureMode: s.Capture(), ClientTokenTTL: s.ClientTokenTTL, First6Digits: s.First6Digits, DisplayName: s.DisplayName,
		RefuseRefundOfDisputed: s.RefuseRefundOfDisputed, CheckoutOrigins: s.CheckoutOrigins,
	}
}
