package jsondiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Change is one difference between two values. An added field has no From, a removed field
// no To; null is a value.
type Change struct {
	Path string          `json:"path"` // of a leaf: $.transactions[0].processorStatus
	From json.RawMessage `json:"from,omitempty"`
	To   json.RawMessage `json:"to,omitempty"`
}

// Tree returns a value as decoded JSON, with exact numbers.
func Tree(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("jsondiff: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		return nil, fmt.Errorf("jsondiff: %w", err)
	}
	return out, nil
}

// absent is the value of a missing field; null is a value.
type absent struct{}

// Of returns the differences of two trees by path; before is nil if the value did not exist.
func Of(before, after any) []Change {
	if before == nil {
		before = absent{}
	}
	changes := []Change{}
	compare("$", before, after, &changes)
	return changes
}

func compare(path string, from, to any, changes *[]Change) {
	fromMap, fromIsMap := from.(map[string]any)
	toMap, toIsMap := to.(map[string]any)
	fromList, fromIsList := from.([]any)
	toList, toIsList := to.([]any)
	_, fromAbsent := from.(absent)
	_, toAbsent := to.(absent)
	switch {
	case fromIsMap && toIsMap, fromAbsent && len(toMap) > 0, toAbsent && len(fromMap) > 0:
		for _, key := range keys(fromMap, toMap) {
			compare(path+step(key), field(fromMap, key), field(toMap, key), changes)
		}
	case fromIsList && toIsList, fromAbsent && len(toList) > 0, toAbsent && len(fromList) > 0:
		for i := range max(len(fromList), len(toList)) {
			compare(path+"["+strconv.Itoa(i)+"]", element(fromList, i), element(toList, i), changes)
		}
	default:
		c := Change{Path: path, From: raw(from), To: raw(to)}
		if !bytes.Equal(c.From, c.To) {
			*changes = append(*changes, c)
		}
	}
}

func raw(v any) json.RawMessage {
	if _, is := v.(absent); is {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("jsondiff: a decoded JSON value does not encode: %v", err))
	}
	return data
}

func keys(a, b map[string]any) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

func field(m map[string]any, key string) any {
	if v, there := m[key]; there {
		return v
	}
	return absent{}
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

var quotes = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

// step returns the part of a path for a key, which may be any text.
func step(key string) string {
	if plainKey.MatchString(key) {
		return "." + key
	}
	return "['" + quotes.Replace(key) + "']"
}
