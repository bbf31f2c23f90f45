package validation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/domain"
)

// ModelQuery and ModelHeaders are the models of violations outside a body (D1, D9).
const (
	ModelQuery   = "QueryString"
	ModelHeaders = "Headers"
)

// Violations are the faults of one part of a request.
type Violations []domain.Violation

// Add adds a violation; path is written as "$.order.lineItems[0].amount". One more than is listed
// shows that the list is not whole.
func (v *Violations) Add(path, description string) {
	if !v.full() {
		*v = append(*v, domain.Violation{Path: path, Description: description})
	}
}

// full reports whether there are more violations than are listed (D22.14).
func (v Violations) full() bool { return len(v) > domain.ListedViolations }

func (v Violations) sorted() Violations {
	slices.SortFunc(v, func(a, b domain.Violation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Description, b.Description))
	})
	return slices.Compact(v)
}

// ofSchema adds the schema's violations in err, with descriptions of our own.
func (v *Violations) ofSchema(tree any, err error) {
	if err == nil {
		return
	}
	if many, is := errors.AsType[openapi3.MultiError](err); is {
		for _, one := range many {
			v.ofSchema(tree, one)
		}
		return
	}
	one, is := errors.AsType[*openapi3.SchemaError](err)
	if !is {
		v.Add("$", "is not valid")
		return
	}
	path := pathOf(tree, one.JSONPointer())
	switch one.SchemaField {
	case "required":
		v.Add(path, "is required")
	default:
		v.Add(path, describe(one.Schema, one.SchemaField, one.Value))
	}
}

// pathOf returns the path of a pointer into tree: "$.order.lineItems[0].amount".
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
			b.WriteString(Member(part))
			tree = inside[part]
		default:
			b.WriteString(Member(part))
		}
	}
	return b.String()
}

var quotes = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

const nameShown = 64 // the number of characters of an unknown field's name that a path shows

// Member returns a field's part of a path. A name that contains a card number is not echoed.
func Member(name string) string {
	switch {
	case plainName(name):
		return "." + name
	case domain.MayHoldCardNumber(name):
		return "['…']"
	}
	if utf8.RuneCountInString(name) > nameShown {
		name = fmt.Sprintf("%.*s…", nameShown, name)
	}
	return "['" + quotes.Replace(name) + "']"
}

func plainName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return name != "" && len(name) <= nameShown && !(domain.MayHoldCardNumber(name))
}

// Invalid is one RequestValidationError for query and body.
type Invalid struct {
	Query, Body *domain.Error
}

func (e Invalid) Error() string   { return e.Query.Error() + "; " + e.Body.Error() }
func (e Invalid) Unwrap() []error { return []error{e.Query, e.Body} }

// Refuse returns one error for the violations of query and body; nil if there are none.
func Refuse(query Violations, model string, body Violations) error {
	switch {
	case len(query) > 0 && len(body) > 0:
		return Invalid{domain.Invalid(ModelQuery, query...), domain.Invalid(model, body...)}
	case len(query) > 0:
		return domain.Invalid(ModelQuery, query...)
	case len(body) > 0:
		return domain.Invalid(model, body...)
	default:
		return nil
	}
}
