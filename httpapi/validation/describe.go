package validation

import (
	"fmt"
	"math"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/domain"
)

// describe returns the requirement of a rule of a schema, which a value breaks; it never repeats
// the value.
func describe(s *openapi3.Schema, rule string, value any) string {
	if n, is := value.(float64); is && s.Max != nil && *s.Max == float64(domain.MaxAmount) && n > *s.Max {
		return fmt.Sprintf("must be at most %d (2^53 − 1), the largest amount", domain.MaxAmount)
	}
	switch rule {
	case "maxLength":
		return fmt.Sprintf("must be at most %d characters long", *s.MaxLength)
	case "minLength":
		if s.MinLength > 1 && value != "" {
			return fmt.Sprintf("must be at least %d characters long", s.MinLength)
		}
		return "must not be empty"
	case "minItems":
		return "must not be empty"
	case "maxItems":
		return fmt.Sprintf("must have at most %d elements", *s.MaxItems)
	case "maxProperties":
		return fmt.Sprintf("must have at most %d keys", *s.MaxProps)
	case "uniqueItems":
		return "must not name anything twice"
	case "anyOf":
		return "must be " + anyName(s.AnyOf)
	case "enum":
		return "must be " + enumName(s)
	case "pattern":
		return "must be " + formName(s)
	case "type", "nullable", "minimum", "maximum", "format":
		return "must be " + typeName(s) + minorUnits(s, value)
	default:
		return "is not valid"
	}
}

func typeName(s *openapi3.Schema) string {
	switch {
	case s.Type.Is(openapi3.TypeInteger):
		return "an integer" + bounds(s)
	case s.Type.Is(openapi3.TypeNumber):
		return "a number" + bounds(s)
	case s.Type.Is(openapi3.TypeString) && len(s.Enum) > 0:
		return enumName(s)
	case s.Type.Is(openapi3.TypeString):
		return "a string"
	case s.Type.Is(openapi3.TypeBoolean):
		return "true or false"
	case s.Type.Is(openapi3.TypeArray):
		return "an array"
	case s.Type.Is(openapi3.TypeObject):
		return "an object"
	default:
		return "of another type"
	}
}

// minorUnits returns a hint about amounts if the value for an amount is a text or a fraction
// (§2.1).
func minorUnits(s *openapi3.Schema, value any) string {
	if !strings.Contains(strings.ToLower(s.Description), "minor units") {
		return ""
	}
	return amountHint(value)
}

// amountHint returns a hint about amounts for a value like 10.50 or "10.50".
func amountHint(value any) string {
	switch value := value.(type) {
	case string:
		if len(value) > plainDigits && strings.Trim(value, "0123456789") == "" { // too large, in a query
			return ""
		}
	case float64:
		if value == math.Trunc(value) {
			return ""
		}
	default:
		return ""
	}
	return ", in minor units: 1050 for 10.50 EUR"
}

func bounds(s *openapi3.Schema) string {
	switch {
	case s.Min != nil && s.Max != nil:
		return fmt.Sprintf(" between %.0f and %.0f", *s.Min, *s.Max)
	case s.Min != nil:
		return fmt.Sprintf(" of %.0f or more", *s.Min)
	default:
		return ""
	}
}

func anyName(any openapi3.SchemaRefs) string {
	names := make([]string, len(any))
	for i, s := range any {
		names[i] = typeName(s.Value)
	}
	return strings.Join(names, ", or ")
}

// enumShown is the greatest number of values that a description lists. A longer enumeration has its
// schema's description.
const enumShown = 20

func enumName(s *openapi3.Schema) string {
	if len(s.Enum) > enumShown {
		return formName(s)
	}
	var names []string
	for _, v := range s.Enum {
		if v != nil {
			names = append(names, fmt.Sprint(v))
		}
	}
	return "one of " + strings.Join(names, ", ")
}

func formName(s *openapi3.Schema) string {
	if s.Description == "" {
		return "of another form"
	}
	text := strings.TrimSuffix(s.Description, ".")
	if len(text) > 1 && text[1] >= 'a' && text[1] <= 'z' || text[1] == ' ' { // not an abbreviation
		text = strings.ToLower(text[:1]) + text[1:]
	}
	return text
}
