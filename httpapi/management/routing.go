package management

import (
	"encoding/json"
	"strings"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
)

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

// routingRules adds the violations that the aggregate finds: it knows currencies and compares
// fields.
func routingRules(v *validation.Violations, c *request.Call) {
	var body routingBody
	_ = json.Unmarshal(c.Body.Text, &body) // a field of another type is left out: the schema reports it
	body.check(v, c, "$")
}

// check adds the violations of rules that stand at a path of the body.
func (b routingBody) check(v *validation.Violations, c *request.Call, at string) {
	for _, f := range b.routing().Violations() {
		if path := at + strings.TrimPrefix(f.Path, "$"); validation.Stands(c.Body.Tree, path) && !v.Has(path) {
			v.Add(path, f.Description)
		}
	}
}

type previewRequest struct {
	Currency domain.Currency `json:"currencyCode"`
	Amount   domain.Amount   `json:"amount"`
	Network  domain.Network  `json:"network"`
	Country  string          `json:"countryCode"`
	Metadata domain.Metadata `json:"metadata"`
	Routing  *routingBody    `json:"routing"` // nil: the rules in force
}

const (
	byRule    = "RULE"
	byDefault = "DEFAULT"
	byNone    = "ALL" // no rule matches and there is no default: all processors
)

type previewAnswer struct {
	DecidedBy  string              `json:"decidedBy"`
	Rule       string              `json:"rule,omitempty"`
	Processors []account.Processor `json:"processors"`          // to be tried, in order
	Disabled   []processor.Name    `json:"disabled"`            // of the list that decides; they are left out
	NoAddress  []processor.Name    `json:"noAddress,omitempty"` // of the list that decides; they are left out
	Rules      []previewRule       `json:"rules"`
}

type previewRule struct {
	Name    string `json:"name"`
	Matches bool   `json:"matches"`
	Fails   string `json:"fails,omitempty"` // a condition that does not hold
}

// PreviewRouting serves POST /management/routing/preview: the processors that would be tried for a
// payment, by the rules in force or by those of the request.
func (h *Handlers) PreviewRouting(c *request.Call, body previewRequest) (any, error) {
	facts := account.RouteFacts{
		Currency: body.Currency, Network: body.Network, Amount: body.Amount, CountryCode: body.Country, Metadata: request.Integers(body.Metadata),
	}
	merchant := c.Merchant
	if body.Routing != nil {
		merchant.Routing = body.Routing.routing()
	}
	rules := merchant.Routing
	answer := previewAnswer{
		DecidedBy: byNone, Processors: []account.Processor{}, Disabled: []processor.Name{},
		Rules: request.Map(rules.Rules, func(r account.Rule) previewRule {
			fails := r.When.Fails(facts)
			return previewRule{r.Name, fails == "", fails}
		}),
	}
	for _, p := range merchant.Route(facts) {
		if h.Connection != nil && h.Connection(p.Name).State == processor.NoAddress {
			answer.NoAddress = append(answer.NoAddress, p.Name)
		} else {
			answer.Processors = append(answer.Processors, p)
		}
	}
	list := processor.Names
	if i := rules.Match(facts); i >= 0 {
		answer.DecidedBy, answer.Rule, list = byRule, rules.Rules[i].Name, rules.Rules[i].Processors
	} else if len(rules.Default) > 0 {
		answer.DecidedBy, list = byDefault, rules.Default
	}
	for _, name := range list {
		if p, known := merchant.Processor(name); !known || !p.Enabled {
			answer.Disabled = append(answer.Disabled, name)
		}
	}
	return answer, nil
}

func previewRules(v *validation.Violations, c *request.Call) {
	if code, is := c.Body.Tree["currencyCode"].(string); is && !domain.Currency(code).Known() {
		v.Once("$.currencyCode", "must be an active ISO 4217 currency code")
	}
	v.Metadata(c.Body.Tree)
	var body previewRequest
	_ = json.Unmarshal(c.Body.Text, &body) // a field of another type is left out: the schema reports it
	if body.Routing != nil {
		body.Routing.check(v, c, "$.routing")
	}
}
