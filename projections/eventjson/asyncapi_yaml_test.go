package eventjson_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// node is a mapping of YAML with ordered fields.
type node []field

type field struct {
	name  string
	value any // string, bool, int, node, list
}

type list []any

// flowWidth is the maximum length of a value on one line.
const flowWidth = 180

// block returns the lines of a mapping.
func (n node) block(indent string) string {
	var out strings.Builder
	for _, f := range n {
		out.WriteString(indent + scalar(f.name) + ":")
		switch short := flow(f.value); {
		case len(indent)+len(f.name)+len(short) <= flowWidth && !nested(f.value):
			out.WriteString(" " + short + "\n")
		default:
			out.WriteString("\n" + deeper(f.value, indent+"  "))
		}
	}
	return out.String()
}

// nested reports whether a value is easier to read on several lines: a mapping with mappings.
func nested(v any) bool {
	n, is := v.(node)
	return is && slices.ContainsFunc(n, func(f field) bool { inner, is := f.value.(node); return is && len(inner) > 0 })
}

func deeper(v any, indent string) string {
	switch v := v.(type) {
	case node:
		return v.block(indent)
	case list:
		var out strings.Builder
		for _, item := range v {
			fmt.Fprintf(&out, "%s- %s\n", indent, flow(item))
		}
		return out.String()
	}
	return indent + flow(v) + "\n"
}

// flow returns a value on one line.
func flow(v any) string {
	switch v := v.(type) {
	case node:
		parts := make([]string, len(v))
		for i, f := range v {
			parts[i] = scalar(f.name) + ": " + flow(f.value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case list:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = flow(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return scalar(v)
	default:
		return fmt.Sprint(v)
	}
}

// plain matches texts that need no quotes.
var plain = regexp.MustCompile(`^[A-Za-z$][A-Za-z0-9_./()' -]*[A-Za-z0-9_./)]$|^[A-Za-z]$`)

func scalar(text string) string {
	if plain.MatchString(text) && !slices.Contains([]string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(text)) {
		return text
	}
	var quoted strings.Builder
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string has no error
	return strings.TrimSpace(quoted.String())
}

// ordered returns a decoded JSON value with its mappings as nodes. The fields are sorted, after the
// fields that readers need first.
func ordered(v any) any {
	switch v := v.(type) {
	case map[string]any:
		var n node
		for _, name := range slices.SortedFunc(mapKeys(v), func(a, b string) int {
			if d := rank(a) - rank(b); d != 0 {
				return d
			}
			return strings.Compare(a, b)
		}) {
			n = append(n, field{name, ordered(v[name])})
		}
		return n
	case []any:
		l := make(list, len(v))
		for i := range v {
			l[i] = ordered(v[i])
		}
		return l
	}
	return v
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func rank(name string) int {
	if i := slices.Index([]string{"type", "additionalProperties", "required"}, name); i >= 0 {
		return i
	}
	return 3
}
