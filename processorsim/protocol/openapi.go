package protocol

import _ "embed"

//go:embed openapi.yaml
var openAPI []byte

// OpenAPI returns the protocol as an OpenAPI document, in YAML.
func OpenAPI() []byte { return openAPI }
