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
