package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/domain"
)

// modelQuery and modelHeaders name what violations are about, where it is not a body (D1, D9).
const (
	modelQuery   = "QueryString"
	modelHeaders = "Headers"
)

// validate holds query and body to the operation's schema and to the rules that a schema cannot say, and
// names every violation at once (D3).
func (c *call) validate() error {
	if c.route.access == byPage { // what a page cannot read it ignores: links gather parameters on their way
		return nil
	}
	query, body := c.queryViolations(), violations(nil)
	if c.operation.hasBody() {
		body = c.bodyViolations()
	}
	if len(query) == 0 && len(body) == 1 && body[0].Description == emptyMetadataKey {
		e := domain.Refuse(domain.KindInvalid, domain.ReasonMetadataEmptyKey, "A key of metadata is empty.")
		e.Model, e.Violations = c.operation.model, body
		return e
	}
	return refuse(query, c.operation.model, body)
}

func (c *call) bodyViolations() violations {
	var found violations
	found.ofSchema(c.body.tree, c.operation.body.VisitJSON(c.body.tree, openapi3.MultiErrors(), datesByRule))
	found.ofText(nil, c.body.tree)
	found.ofOptions(c.body.options(), c.route.method == http.MethodPatch)
	if rules := bodyRules[c.route.operation]; rules != nil {
		rules(&found, c.body.tree, c)
	}
	return found.sorted()
}

// violations are the faults of one part of a request.
type violations []domain.Violation

func (v *violations) add(path, description string) {
	*v = append(*v, domain.Violation{Path: path, Description: description})
}

// sorted gives them by path, each once.
func (v violations) sorted() violations {
	slices.SortFunc(v, func(a, b domain.Violation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Description, b.Description))
	})
	return slices.Compact(v)
}

// ofSchema takes over what the schema found in tree, in our words.
func (v *violations) ofSchema(tree any, err error) {
	if err == nil {
		return
	}
	var many openapi3.MultiError
	if errors.As(err, &many) {
		for _, one := range many {
			v.ofSchema(tree, one)
		}
		return
	}
	var one *openapi3.SchemaError
	if !errors.As(err, &one) {
		v.add("$", "is not valid")
		return
	}
	path := pathOf(tree, one.JSONPointer())
	switch one.SchemaField {
	case "properties":
		name := quoted(one.Reason)
		v.add(path+member(name), unknownName("field", name, slices.Collect(maps.Keys(one.Schema.Properties))))
	case "required":
		v.add(path, "is required")
	default:
		v.add(path, describe(one))
	}
}

// pathOf writes a pointer into tree as "$.order.lineItems[0].amount".
func pathOf(tree any, pointer []string) string {
	var b strings.Builder
	b.WriteByte('$')
	for _, part := range pointer {
		switch inside := tree.(type) {
		case []any:
			b.WriteString("[" + part + "]")
			tree = nil
			if i, err := strconv.Atoi(part); err == nil && i < len(inside) {
				tree = inside[i]
			}
		case map[string]any:
			b.WriteString(member(part))
			tree = inside[part]
		default:
			b.WriteString(member(part))
		}
	}
	return b.String()
}

// nameShown is how many characters of an unknown field's name a path shows.
const nameShown = 64

// member is a field's part of a path. A name that holds a card number is not echoed.
func member(name string) string {
	switch {
	case plainName(name):
		return "." + name
	case domain.MayHoldCardNumber(name):
		return "['…']"
	}
	if utf8.RuneCountInString(name) > nameShown {
		name = fmt.Sprintf("%.*s…", nameShown, name)
	}
	return "['" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(name) + "']"
}

// plainName tells a name that needs no quotes in a path, as all of ours.
func plainName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return name != "" && len(name) <= nameShown && !(domain.MayHoldCardNumber(name))
}

// quoted takes the name out of the library's `property "x" is unsupported`.
func quoted(reason string) string {
	first, last := strings.IndexByte(reason, '"'), strings.LastIndexByte(reason, '"')
	if first >= 0 && first < last {
		if name, err := strconv.Unquote(reason[first : last+1]); err == nil {
			return name
		}
	}
	return "…"
}
