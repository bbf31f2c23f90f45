package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// exactTree reads a JSON object. Its numbers are json.Number: they keep the digits that were written.
func exactTree(text []byte) (tree map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("httpapi: %w", err)
	}
	return tree, nil
}

// exactText writes a tree of exactTree as JSON without white space.
func exactText(tree map[string]any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(tree); err != nil {
		return nil, fmt.Errorf("httpapi: %w", err)
	}
	return b.Bytes(), nil
}
