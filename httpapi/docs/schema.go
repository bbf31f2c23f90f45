package docs

import (
	"fmt"
	"slices"
	"strings"
)

type field struct {
	Name        string
	Type        string
	Required    bool
	Always      bool     // of an answer: the field is never left out
	Limits      []string // "at most 255 characters"
	Values      []string // the enumeration
	Description string
	Fields      []field // of an object, or of an array's elements
}

// Folded reports whether the page folds the values: a long list hides the fields below it.
func (f field) Folded() bool { return len(f.Values) > maxValues }

// answered returns the fields as those of an answer.
func answered(fields []field) []field {
	for i := range fields {
		fields[i].Always, fields[i].Required = fields[i].Required, false
		answered(fields[i].Fields)
	}
	return fields
}

const (
	// maxValues is the length of the longest enumeration that is not folded.
	maxValues = 20
	maxDepth  = 8
)

func (d *document) fields(s *schema, depth int) []field {
	s = d.schema(s)
	if s == nil || depth > maxDepth {
		return nil
	}
	if s.Type.name == "array" {
		return d.fields(s.Items, depth)
	}
	var all []field
	for _, part := range s.AllOf {
		all = append(all, d.fields(part, depth)...)
	}
	for _, p := range s.Properties {
		all = append(all, d.field(p.Key, slices.Contains(s.Required, p.Key), p.Value, depth))
	}
	return all
}

func (d *document) field(name string, required bool, ref *schema, depth int) field {
	s := d.schema(ref)
	if s == nil {
		return field{Name: name, Required: required}
	}
	f := field{Name: name, Type: d.typeOf(s), Required: required, Limits: limits(s), Description: s.Description, Fields: d.fields(s, depth+1)}
	f.Values = values(s)
	if s.Type.name == "array" {
		if element := d.schema(s.Items); element != nil {
			f.Values = values(element)
			for _, limit := range limits(element) {
				f.Limits = append(f.Limits, "each "+limit)
			}
			if f.Description == "" {
				f.Description = element.Description
			}
		}
	}
	if f.Description == "" && s.Pattern != "" {
		f.Limits = append(f.Limits, "matches "+s.Pattern)
	}
	return f
}

func values(s *schema) []string {
	return slices.DeleteFunc(slices.Clone(s.Enum), func(v string) bool { return v == "" || v == "null" }) // nullable lists name null, too
}

func (d *document) typeOf(s *schema) string {
	name := s.Type.name
	switch {
	case s.Type.name == "array":
		name = "array"
		if element := d.schema(s.Items); element != nil && (element.Type.name != "" || len(element.AnyOf) > 0) {
			name = "array of " + d.typeOf(element)
		}
	case s.Type.name == "string" && s.Format == "date-time":
		name = "date"
	case s.Type.name == "string" && s.Format == "uuid":
		name = "UUID"
	case len(s.AnyOf) > 0:
		var types []string
		for _, one := range s.AnyOf {
			types = append(types, d.typeOf(d.schema(one)))
		}
		name = strings.Join(types, " or ")
	case name == "" && len(s.AllOf) > 0:
		name = "object"
	}
	if s.Nullable || s.Type.null {
		name += " or null"
	}
	return name
}

func limits(s *schema) (all []string) {
	if text := between(number(s.MinLength), number(s.MaxLength)); text != "" {
		all = append(all, count(text, "character"))
	}
	if text := between(s.Minimum, s.Maximum); text != "" {
		all = append(all, text)
	}
	if text := between(number(s.MinItems), number(s.MaxItems)); text != "" {
		all = append(all, count(text, "element"))
	}
	if s.MaxProperties != nil {
		all = append(all, fmt.Sprintf("at most %d fields", *s.MaxProperties))
	}
	if s.Unique {
		all = append(all, "no value twice")
	}
	if text := plain(&s.Default); text != "" {
		all = append(all, "default "+text)
	}
	return all
}

func count(limit, thing string) string {
	if limit == "1" || strings.HasSuffix(limit, " 1") {
		return limit + " " + thing
	}
	return limit + " " + thing + "s"
}

func number(n *int) *string {
	if n == nil || *n == 0 {
		return nil
	}
	text := fmt.Sprint(*n)
	return &text
}

func between(least, most *string) string {
	switch {
	case least != nil && most != nil && *least == *most:
		return "exactly " + *least
	case least != nil && most != nil:
		return *least + " to " + *most
	case least != nil:
		return "at least " + *least
	case most != nil:
		return "at most " + *most
	default:
		return ""
	}
}
