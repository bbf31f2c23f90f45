package httpapi

import (
	_ "embed"
	"fmt"
	"path"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

//go:embed openapi.yaml
var openapiYAML []byte

// OpenAPI is the public reference, as served at /openapi.yaml.
func OpenAPI() []byte { return openapiYAML }

// LoadOpenAPI reads the public reference. A schema without a type takes null, as OpenAPI 3.0.3 has it; the library wants that
// said.
func LoadOpenAPI() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(openapiYAML)
	if err != nil {
		return nil, fmt.Errorf("httpapi: openapi.yaml: %w", err)
	}
	for _, schema := range doc.Components.Schemas {
		for _, one := range schema.Value.AnyOf {
			if items := one.Value.Items; items != nil && items.Value.IsEmpty() {
				items.Value.Nullable = true
			}
		}
	}
	return doc, nil
}

// operation is what openapi.yaml says of the requests of one call: the contract that is published is the
// one that requests are held to.
type operation struct {
	method, path string
	model        string           // name of the body's schema
	body         *openapi3.Schema // nil for a call without one
	optional     bool             // an empty body and null mean {} (D1)
	query        map[string]*openapi3.Parameter
}

func (o *operation) hasBody() bool { return o.body != nil }

// loadOperations reads openapi.yaml, once: its operations by operationId. They are shared and never changed.
var loadOperations = sync.OnceValues(func() (map[string]*operation, error) {
	doc, err := LoadOpenAPI()
	if err != nil {
		return nil, err
	}
	all := map[string]*operation{}
	for at, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			o := &operation{method: method, path: at, query: map[string]*openapi3.Parameter{}}
			for _, p := range op.Parameters {
				if p.Value.In == openapi3.ParameterInQuery {
					o.query[p.Value.Name] = p.Value
				}
			}
			if op.RequestBody != nil {
				ref := op.RequestBody.Value.Content.Get("application/json").Schema
				o.body, o.model = ref.Value, path.Base(ref.Ref) // "#/components/schemas/Name"
				o.optional = !op.RequestBody.Value.Required
			}
			all[op.OperationID] = o
		}
	}
	return all, nil
})

// datesByRule leaves `format: date-time` to our own rules: a date may come without an offset (D1).
var datesByRule = openapi3.WithStringFormatValidator("date-time", openapi3.NewCallbackValidator(func(string) error { return nil }))

// checkRoutes holds routes and operations to each other; its error names what one knows and the other does
// not.
func checkRoutes(routes []route, operations map[string]*operation) error {
	for _, r := range routes {
		o := operations[r.operation]
		if o == nil || o.method != r.method || o.path != r.path {
			return fmt.Errorf("httpapi: openapi.yaml lacks %s %s as %s", r.method, r.path, r.operation)
		}
	}
	if len(routes) != len(operations) {
		return fmt.Errorf("httpapi: openapi.yaml has %d operations for %d routes", len(operations), len(routes))
	}
	return nil
}
