package httpapi

import (
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore/commands"
)

// listProcessors: GET /management/processors.
func listProcessors(c *call) (any, error) {
	return page(c, c.merchant.Processors, func(p account.Processor) string { return string(p.Name) })
}

// processorRequest is the body of PATCH /management/processors/{name} (D20).
type processorRequest struct {
	Enabled    *bool   `json:"enabled"`
	MerchantID *string `json:"processorMerchantId"`
}

// changeProcessor: PATCH /management/processors/{name}.
func changeProcessor(c *call) (any, error) {
	body, err := decode[processorRequest](c)
	if err != nil {
		return nil, err
	}
	changed, err := c.api.Commands.ChangeProcessor(c.ctx, c.caller(), commands.ProcessorInput{
		Name: processor.Name(c.vars["name"]), Enabled: body.Enabled, MerchantID: body.MerchantID,
	})
	if err != nil {
		return nil, err
	}
	c.show()
	return changed, nil
}

// settingsRequest is the body of PATCH /management/settings (D20). ClientTokenTTL is a number of seconds.
type settingsRequest struct {
	CaptureMode    *string `json:"captureMode"`
	ClientTokenTTL *int64  `json:"clientTokenTtl"`
	First6Digits   *bool   `json:"first6Digits"`
	DisplayName    *string `json:"displayName"`
}

// settingsAnswer are the account's settings; without clientTokenTtl, client tokens live as long as the service
// has it, and without displayName customers read of "the shop".
type settingsAnswer struct {
	CaptureMode    string `json:"captureMode"`
	ClientTokenTTL int64  `json:"clientTokenTtl,omitempty"`
	First6Digits   bool   `json:"first6Digits"`
	DisplayName    string `json:"displayName,omitempty"`
}

// getSettings: GET /management/settings.
func getSettings(c *call) (any, error) { return renderSettings(c.merchant.Settings), nil }

// changeSettings: PATCH /management/settings. A clientTokenTtl of null gives way to the service's own, a displayName of
// null to none.
func changeSettings(c *call) (any, error) {
	body, err := decode[settingsRequest](c)
	if err != nil {
		return nil, err
	}
	in := commands.SettingsInput(body)
	if _, sent := c.body.tree["clientTokenTtl"]; sent && in.ClientTokenTTL == nil {
		in.ClientTokenTTL = new(int64)
	}
	if _, sent := c.body.tree["displayName"]; sent && in.DisplayName == nil {
		in.DisplayName = new(string)
	}
	changed, err := c.api.Commands.ChangeSettings(c.ctx, c.caller(), in)
	if err != nil {
		return nil, err
	}
	c.show()
	return renderSettings(changed), nil
}

func renderSettings(s account.Settings) settingsAnswer {
	return settingsAnswer{CaptureMode: s.Capture(), ClientTokenTTL: s.ClientTokenTTL, First6Digits: s.First6Digits, DisplayName: s.DisplayName}
}
