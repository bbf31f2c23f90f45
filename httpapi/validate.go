package httpapi

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/domain"
)

// validate holds the body to its schema and to the rules that a schema cannot say, and names every
// violation at once (D3).
func (c *call) validate(tree map[string]any) error {
	if emptyMetadataKey(tree) {
		return domain.Refuse(domain.KindInvalid, domain.ReasonMetadataEmptyKey, "A key of metadata is empty.")
	}
	op := c.api.schemas[c.route.operation]
	found := violations{}
	found.ofSchema(op.body.VisitJSON(tree, openapi3.MultiErrors()))
	found.ofText("$", tree)
	found.ofMetadata(tree)
	if extra := bodyRules[c.route.operation]; extra != nil {
		extra(found, tree, c)
	}
	return found.err(op.model)
}

// bodyRules are the rules of single calls.
var bodyRules = map[string]func(violations, map[string]any, *call){
	"createClientSession":     sessionRules,
	"createPayment":           paymentRules,
	"createPaymentInstrument": cardRules,
}

// violations are the faults of a request by path: one description each, the first that was found.
type violations map[string]string

func (v violations) add(path, description string) {
	if _, there := v[path]; !there {
		v[path] = description
	}
}

// err gives all violations as one error, by path; nil when there is none.
func (v violations) err(model string) error {
	if len(v) == 0 {
		return nil
	}
	list := make([]domain.Violation, 0, len(v))
	for path, description := range v {
		list = append(list, domain.Violation{Path: path, Description: description})
	}
	slices.SortFunc(list, func(a, b domain.Violation) int { return strings.Compare(a.Path, b.Path) })
	return domain.Invalid(model, list...)
}

// ofSchema takes over what the schema found, in our words.
func (v violations) ofSchema(err error) {
	var many openapi3.MultiError
	if errors.As(err, &many) {
		for _, one := range many {
			v.ofSchema(one)
		}
		return
	}
	var one *openapi3.SchemaError
	if !errors.As(err, &one) {
		if err != nil {
			v.add("$", "is not valid")
		}
		return
	}
	path := pathOf(one.JSONPointer())
	switch one.SchemaField {
	case "properties":
		v.add(path+member(quoted(one.Reason)), "is not a known field")
	case "required":
		v.add(path, "is required")
	default:
		v.add(path, describe(one))
	}
}

// ofValue takes over what a schema found about one value that stands at path.
func (v violations) ofValue(path string, err error) {
	var one *openapi3.SchemaError
	if errors.As(err, &one) {
		v.add(path, describe(one))
		return
	}
	v.add(path, "is not valid")
}

// pathOf writes a pointer as "$.order.lineItems[0].amount".
func pathOf(pointer []string) string {
	var b strings.Builder
	b.WriteByte('$')
	for _, part := range pointer {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			b.WriteString("[" + part + "]")
		} else {
			b.WriteString(member(part))
		}
	}
	return b.String()
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// member is a field's part of a path. A name that holds a card number is not echoed.
func member(name string) string {
	switch {
	case domain.HoldsCardNumber(name):
		return "['…']"
	case plainName.MatchString(name):
		return "." + name
	default:
		return fmt.Sprintf("['%.64s']", name)
	}
}

// quoted takes the name out of the library's `property "x" is unsupported`.
func quoted(reason string) string {
	first, last := strings.IndexByte(reason, '"'), strings.LastIndexByte(reason, '"')
	if first < 0 || last <= first {
		return reason
	}
	return reason[first+1 : last]
}

// describe says what a schema's rule wants; it never repeats the value.
func describe(e *openapi3.SchemaError) string {
	s := e.Schema
	switch e.SchemaField {
	case "type", "nullable":
		return "must be " + typeName(s)
	case "minimum", "maximum":
		return "must be " + typeName(s)
	case "maxLength":
		return fmt.Sprintf("must be at most %d characters long", *s.MaxLength)
	case "minLength":
		return "must not be empty"
	case "maxItems":
		return fmt.Sprintf("must have at most %d elements", *s.MaxItems)
	case "minItems":
		return fmt.Sprintf("must have at least %d elements", s.MinItems)
	case "maxProperties":
		return fmt.Sprintf("must have at most %d keys", *s.MaxProps)
	case "uniqueItems":
		return "must not name anything twice"
	case "enum":
		return "must be one of " + enumList(s.Enum)
	case "pattern", "format":
		if s.Description != "" {
			return "must be " + lowerFirst(strings.TrimSuffix(s.Description, "."))
		}
		return "does not have the right form"
	default:
		return "is not valid"
	}
}

func typeName(s *openapi3.Schema) string {
	switch {
	case s.Type.Is("integer") && s.Min != nil && s.Max != nil:
		return fmt.Sprintf("an integer between %.0f and %.0f", *s.Min, *s.Max)
	case s.Type.Is("integer") && s.Min != nil:
		return fmt.Sprintf("an integer of %.0f or more", *s.Min)
	case s.Type.Is("integer"):
		return "an integer"
	case s.Type.Is("string"):
		return "a string"
	case s.Type.Is("boolean"):
		return "true or false"
	case s.Type.Is("array"):
		return "an array"
	case s.Type.Is("object"):
		return "an object"
	case s.Type.Is("number"):
		return "a number"
	default:
		return "of another type"
	}
}

// enumShown is how many values a description lists.
const enumShown = 20

func enumList(values []any) string {
	if len(values) > enumShown {
		return "the values in openapi.yaml"
	}
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = fmt.Sprint(v)
	}
	return strings.Join(names, ", ")
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
