package httpapi

import (
	_ "embed"
	"fmt"
	"payledger/httpapi/validation"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

//go:embed openapi.yaml
var openapiYAML []byte

// OpenAPI is the public reference, as served at /openapi.yaml.
func OpenAPI() []byte { return openapiYAML }

// LoadOpenAPI reads the public reference. In OpenAPI 3.0.3 a schema without a type accepts null;
// the library must be configured to.
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

// loadOperations reads openapi.yaml, once. The operations are shared and never changed.
var loadOperations = sync.OnceValues(func() (map[string]*validation.Operation, error) {
	doc, err := LoadOpenAPI()
	if err != nil {
		return nil, err
	}
	return validation.Operations(doc), nil
})

func checkRoutes(routes []route, operations map[string]*validation.Operation) error {
	for _, r := range routes {
		o := operations[r.operation]
		if o == nil || o.Method != r.method || o.Path != r.path {
			return fmt.Errorf("httpapi: openapi.yaml lacks %s %s as %s", r.method, r.path, r.operation)
		}
	}
	if len(routes) != len(operations) {
		return fmt.Errorf("httpapi: openapi.yaml has %d operations for %d routes", len(operations), len(routes))
	}
	return nil
}
