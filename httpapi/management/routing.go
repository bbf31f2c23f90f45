package management

import (
	"encoding/json"

	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
)

// routingBody is the body and the answer of /management/routing (D20).
type routingBody struct {
	Rules   []account.Rule   `json:"rules"`
	Default []processor.Name `json:"default"`
}

func (b routingBody) routing() account.Routing {
	r := account.Routing{Rules: b.Rules, Default: b.Default}
	for i := range r.Rules {
		r.Rules[i].When.Metadata = request.Integers(r.Rules[i].When.Metadata)
	}
	return r
}

// GetRouting serves GET /management/routing.
func (h *Handlers) GetRouting(c *request.Call) (any, error) {
	return renderRouting(c.Merchant.Routing), nil
}

// PutRouting serves PUT /management/routing: it replaces all rules (D15).
func (h *Handlers) PutRouting(c *request.Call, body routingBody) (any, error) {
	changed, err := h.Commands.ChangeRouting(c.Ctx, c.Caller(), body.routing())
	return h.shown(c, renderRouting(changed), err)
}

func renderRouting(r account.Routing) routingBody {
	return routingBody{Rules: append([]account.Rule{}, r.Rules...), Default: append([]processor.Name{}, r.Default...)}
}

// routingRules adds the violations that the aggregate finds: it knows currencies and compares fields.
func routingRules(v *validation.Violations, c *request.Call) {
	var body routingBody
	_ = json.Unmarshal(c.Body.Text, &body) // a field of another type is left out: the schema reports it
	for _, f := range body.routing().Violations() {
		if validation.Stands(c.Body.Tree, f.Path) && !v.Has(f.Path) {
			v.Add(f.Path, f.Description)
		}
	}
}
