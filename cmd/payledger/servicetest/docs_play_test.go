package servicetest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

// shapeOf returns the names and types of JSON, to compare two answers: each field once, elements of
// an array as one.
func shapeOf(text string) []string {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return nil
	}
	var all []string
	var walk func(at string, value any)
	walk = func(at string, value any) {
		all = append(all, fmt.Sprintf("%s %T", at, value))
		switch v := value.(type) {
		case map[string]any:
			for name, field := range v {
				walk(at+"."+name, field)
			}
		case []any:
			for _, element := range v {
				walk(at+"[]", element)
			}
		}
	}
	walk("", value)
	slices.Sort(all)
	return slices.Compact(all)
}

var hrefs = regexp.MustCompile(`(?:href|src)="([^"]+)"`)
