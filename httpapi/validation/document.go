package validation

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ExactTree reads a JSON object. Its numbers are json.Number, which keep their text.
func ExactTree(text []byte) (tree map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("httpapi: %w", err)
	}
	return tree, nil
}

// ExactText writes a tree of ExactTree as JSON without white space.
func ExactText(tree map[string]any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(tree); err != nil {
		return nil, fmt.Errorf("httpapi: %w", err)
	}
	return b.Bytes(), nil
}

// DropNulls removes null fields, which count as absent (D21); in a change, where null clears a field (D4), only those in arrays.
func (d *Document) DropNulls(change bool) error {
	if !withoutNulls(d.Tree, change) {
		return nil
	}
	exact, err := ExactTree(d.Text)
	if err != nil {
		return err
	}
	withoutNulls(exact, change)
	d.Text, err = ExactText(exact)
	return err
}

// withoutNulls removes the null fields of a tree, with clears those in arrays only, and reports whether there were any.
func withoutNulls(tree any, clears bool) (some bool) {
	switch tree := tree.(type) {
	case map[string]any:
		for name, value := range tree {
			if value == nil && !clears {
				delete(tree, name)
				some = true
			}
			some = withoutNulls(value, clears) || some
		}
	case []any:
		for _, element := range tree {
			some = withoutNulls(element, false) || some
		}
	}
	return some
}
