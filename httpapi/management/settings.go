package management

import (
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/httpapi/request"
	"payledger/projections/listing"
	"payledger/projections/paymentjson"
)

// ListProcessors serves GET /management/processors.
func (h *Handlers) ListProcessors(c *request.Call) (any, error) {
	rows := request.Map(c.Merchant.AtEach(), h.renderProcessor)
	return request.Page(c, "processors", rows, func(p processorAnswer) listing.Place { return listing.Place{ID: string(p.Name)} }) // none is ever removed
}

// processorAnswer is a merchant account with the state of the connection. The reason of a fault is
// the operator's: it may name addresses.
type processorAnswer struct {
	account.Processor
	Connection      processor.ConnectionState `json:"connection,omitempty"`
	ConnectionSince *paymentjson.Time         `json:"connectionSince,omitempty"`
	UnfitAnswers    int                       `json:"unfitAnswers,omitempty"`
}

func (h *Handlers) renderProcessor(p account.Processor) processorAnswer {
	answer := processorAnswer{Processor: p}
	if h.Connection == nil {
		return answer
	}
	c := h.Connection(p.Name)
	if answer.Connection = c.State; !c.Since.IsZero() {
		answer.ConnectionSince = &paymentjson.Time{Time: c.Since}
	}
	answer.UnfitAnswers = c.Unfit.Recent
	return answer
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
	BrandColor             string   `json:"brandColor,omitempty"`
	Logo                   string   `json:"logo,omitempty"`
}

// GetSettings serves GET /management/settings.
func (h *Handlers) GetSettings(c *request.Call) (any, error) {
	return renderSettings(c.Merchant.Settings), nil
}

// ChangeSettings serves PATCH /management/settings. null restores the default of clientTokenTtl and
// checkoutOrigins, and removes displayName, brandColor and logo.
func (h *Handlers) ChangeSettings(c *request.Call, in account.ChangeSettings) (any, error) {
	if _, sent := c.Body.Tree["clientTokenTtl"]; sent && in.ClientTokenTTL == nil {
		in.ClientTokenTTL = new(int64)
	}
	for name, text := range map[string]**string{"displayName": &in.DisplayName, "brandColor": &in.BrandColor, "logo": &in.Logo} {
		if _, sent := c.Body.Tree[name]; sent && *text == nil {
			*text = new(string)
		}
	}
	if _, sent := c.Body.Tree["checkoutOrigins"]; sent && in.CheckoutOrigins == nil {
		in.CheckoutOrigins = new([]string)
	}
	if in.Logo != nil {
		if err := checkLogo(*in.Logo); err != nil {
			return nil, err
		}
	}
	changed, err := h.Commands.ChangeSettings(c.Ctx, c.Caller(), in)
	return h.shown(c, renderSettings(changed), err)
}

func renderSettings(s account.Settings) settingsAnswer {
	return settingsAnswer{
		CaptureMode: s.Capture(), ClientTokenTTL: s.ClientTokenTTL, First6Digits: s.First6Digits, DisplayName: s.DisplayName,
		RefuseRefundOfDisputed: s.RefuseRefundOfDisputed, CheckoutOrigins: s.CheckoutOrigins,
		BrandColor: s.BrandColor, Logo: s.Logo,
	}
}
