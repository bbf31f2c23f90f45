package eventjsontest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// firstTypes are the event types that can be the first event of their aggregate. A new one is added
// to FirstEvents: without an earlier event it has only its own values, which its JSON, the views
// and the export show.
var firstTypes = FirstTypes()

// checkValues checks that an event says nothing that nobody knows: it has no empty id and no zero
// time. If it is the first event of its aggregate, its type is in firstTypes.
func checkValues(revision uint64, kind string, text []byte) error {
	if revision == 1 && !slices.Contains(firstTypes, kind) {
		return fmt.Errorf("%s is the first event of its aggregate, and is not in FirstEvents", kind)
	}
	var event any
	if err := json.Unmarshal(text, &event); err != nil {
		return err
	}
	for _, at := range NoValues(event, "$") {
		return fmt.Errorf("%s has no value at %s: %s", kind, at, text)
	}
	return nil
}

// NoValues returns the paths of empty ids and zero times in decoded JSON. A merchant's metadata may
// hold them.
func NoValues(value any, path string) (all []string) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			at := path + "." + name
			if text, ok := inner.(string); ok && (text == "" && isID(name) || strings.HasPrefix(text, "0001-01-01")) {
				all = append(all, at)
			}
			if name != "metadata" {
				all = append(all, NoValues(inner, at)...)
			}
		}
	case []any:
		for i, inner := range v {
			all = append(all, NoValues(inner, fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return all
}

// isID reports whether a name of a field, or of a column of an export, is an id's.
func isID(name string) bool {
	return name == "id" || strings.HasSuffix(name, "Id") || strings.HasSuffix(name, "_id") || name == "token" || name == "paymentMethodToken"
}
