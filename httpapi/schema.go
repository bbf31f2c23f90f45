package httpapi

import (
	_ "embed"
	"fmt"

	"github.com/getkin/kin-openapi/openapi3"
)

//go:embed openapi.yaml
var openapiYAML []byte

// OpenAPI is the public reference, as served at /openapi.yaml.
func OpenAPI() []byte { return openapiYAML }

// schemas are the request schemas of openapi.yaml by operationId: the contract that is published is the
// one that requests are held to.
type schemas map[string]operation

type operation struct {
	model string // name of the body's schema
	body  *openapi3.Schema
	query map[string]*openapi3.Parameter
}

func loadSchemas() (schemas, error) {
	doc, err := openapi3.NewLoader().LoadFromData(openapiYAML)
	if err != nil {
		return nil, fmt.Errorf("httpapi: openapi.yaml: %w", err)
	}
	all := schemas{}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			o := operation{query: map[string]*openapi3.Parameter{}}
			for _, p := range op.Parameters {
				if p.Value.In == openapi3.ParameterInQuery {
					o.query[p.Value.Name] = p.Value
				}
			}
			if op.RequestBody != nil {
				ref := op.RequestBody.Value.Content.Get("application/json").Schema
				o.body, o.model = ref.Value, modelName(ref.Ref)
			}
			all[op.OperationID] = o
		}
	}
	return all, nil
}

// modelName is the last part of "#/components/schemas/Name".
func modelName(ref string) string {
	for i := len(ref) - 1; i >= 0; i-- {
		if ref[i] == '/' {
			return ref[i+1:]
		}
	}
	return ref
}

func (s schemas) has(id string) bool     { _, ok := s[id]; return ok }
func (s schemas) hasBody(id string) bool { return s[id].body != nil }
func (s schemas) model(id string) string { return s[id].model }
