package httpapi

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
)

// routingBody is the body and the answer of /management/routing (D20).
type routingBody struct {
	Rules   []account.Rule   `json:"rules"`
	Default []processor.Name `json:"default"`
}

func (b routingBody) routing() account.Routing {
	r := account.Routing{Rules: b.Rules, Default: b.Default}
	for i := range r.Rules {
		r.Rules[i].When.Metadata = integers(r.Rules[i].When.Metadata)
	}
	return r
}

// getRouting: GET /management/routing.
func getRouting(c *call) (any, error) { return renderRouting(c.merchant.Routing), nil }

// putRouting: PUT /management/routing replaces all rules (D15).
func putRouting(c *call) (any, error) {
	body, err := decode[routingBody](c)
	if err != nil {
		return nil, err
	}
	changed, err := c.api.Commands.ChangeRouting(c.ctx, c.caller(), body.routing())
	if err != nil {
		return nil, err
	}
	c.show()
	return renderRouting(changed), nil
}

func renderRouting(r account.Routing) routingBody {
	return routingBody{Rules: append([]account.Rule{}, r.Rules...), Default: append([]processor.Name{}, r.Default...)}
}

// routingRules holds the rules to what the aggregate wants of them, beside what the schema found: it is what
// knows currencies and compares fields.
func routingRules(v *violations, tree map[string]any, c *call) {
	var body routingBody
	_ = json.Unmarshal(c.body.text, &body) // what does not fit its field is left out: the schema names it
	for _, f := range body.routing().Violations() {
		if stands(tree, f.Path) && !v.at(f.Path) {
			v.add(f.Path, f.Description)
		}
	}
}

// at tells whether something was found at exactly this path.
func (v violations) at(path string) bool {
	return slices.ContainsFunc(v, func(o domain.Violation) bool { return o.Path == path })
}

// stands tells whether tree has something at a path like "$.rules[0].when.currencyCode[1]".
func stands(tree any, path string) bool {
	parts := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune("$.[]", r) })
	for _, part := range parts {
		switch inside := tree.(type) {
		case map[string]any:
			value, there := inside[part]
			if !there {
				return false
			}
			tree = value
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(inside) {
				return false
			}
			tree = inside[i]
		default:
			return false
		}
	}
	return true
}
