package reference

import (
	"slices"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/httpapi"
)

// Read is a call that changes nothing: GET.
type Read struct {
	ID          string // operationId
	Path        string // with {names} of parameters
	Summary     string
	Description string
	Parameters  []Parameter // in the path and the query
}

// Parameter is a value that a call takes.
type Parameter struct {
	Name        string
	Description string
	InPath      bool // else in the query
	Required    bool
	Default     any            // nil: none
	Schema      map[string]any // JSON Schema of the value: type, values and elements; formats and limits are the server's
}

// Reads returns all calls that change nothing, by id. They are read once: nobody may change them.
func Reads() (map[string]Read, error) { return reads() }

var reads = sync.OnceValues(func() (map[string]Read, error) {
	document, err := httpapi.LoadOpenAPI()
	if err != nil {
		return nil, err
	}
	all := map[string]Read{}
	for path, item := range document.Paths.Map() {
		if item.Get == nil {
			continue
		}
		one := Read{ID: item.Get.OperationID, Path: path, Summary: item.Get.Summary, Description: item.Get.Description}
		for _, p := range append(slices.Clone(item.Parameters), item.Get.Parameters...) {
			if in := p.Value.In; in != openapi3.ParameterInPath && in != openapi3.ParameterInQuery {
				continue
			}
			schema := p.Value.Schema.Value
			one.Parameters = append(one.Parameters, Parameter{
				Name: p.Value.Name, Description: p.Value.Description, InPath: p.Value.In == openapi3.ParameterInPath, Required: p.Value.Required,
				Default: schema.Default, Schema: schemaOf(schema),
			})
		}
		all[one.ID] = one
	}
	return all, nil
})

func schemaOf(s *openapi3.Schema) map[string]any {
	out := map[string]any{}
	if s.Type != nil && len(s.Type.Slice()) == 1 {
		out["type"] = s.Type.Slice()[0]
	}
	if s.Description != "" {
		out["description"] = s.Description
	}
	if len(s.Enum) > 0 {
		out["enum"] = s.Enum
	}
	if s.Items != nil {
		out["items"] = schemaOf(s.Items.Value)
	}
	return out
}
