package validation

import (
	"net/http"
	"path"
	"payledger/domain"

	"github.com/getkin/kin-openapi/openapi3"
)

// Operation is the part of openapi.yaml about the requests of one call.
type Operation struct {
	Method, Path string
	Model        string                         // the name of the body's schema
	Body         *openapi3.Schema               // nil for a call without a body
	Optional     bool                           // an empty body and null mean {} (D1)
	Query        map[string]*openapi3.Parameter // by name
}

// Operations returns all operations of a document by operationId.
func Operations(doc *openapi3.T) map[string]*Operation {
	all := map[string]*Operation{}
	for at, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			o := &Operation{Method: method, Path: at, Query: map[string]*openapi3.Parameter{}}
			for _, p := range op.Parameters {
				if p.Value.In == openapi3.ParameterInQuery {
					o.Query[p.Value.Name] = p.Value
				}
			}
			if op.RequestBody != nil {
				ref := op.RequestBody.Value.Content.Get("application/json").Schema
				o.Body, o.Model = ref.Value, path.Base(ref.Ref) // "#/components/schemas/Name"
				o.Optional = !op.RequestBody.Value.Required
			}
			all[op.OperationID] = o
		}
	}
	return all
}

// Request is the checked part of a request.
type Request struct {
	Query string // as it was sent
	Body  Document
	Rule  func(*Violations) // adds the violations that the schemas cannot express, of the body if there is one; nil: none
}

// Check validates query and body with the schemas and rules, and reports all violations at once (D3).
func (o *Operation) Check(r Request) error {
	query, body := o.queryViolations(r), Violations(nil)
	if o.Body != nil {
		body = o.bodyViolations(r)
	}
	if len(query) == 0 && len(body) == 1 && body[0].Description == emptyMetadataKey {
		e := domain.Refuse(domain.KindInvalid, domain.ReasonMetadataEmptyKey, "A key of metadata is empty.")
		e.Model, e.Violations = o.Model, body
		return e
	}
	return Refuse(query, o.Model, body)
}

func (o *Operation) bodyViolations(r Request) Violations {
	var found Violations
	found.ofSchema(r.Body.Tree, o.Body.VisitJSON(r.Body.Tree, openapi3.MultiErrors(), datesByRule))
	found.ofText(nil, r.Body.Tree)
	found.ofOptions(r.Body.options(), o.Method == http.MethodPatch)
	if r.Rule != nil {
		r.Rule(&found)
	}
	return found.sorted()
}

// datesByRule leaves `format: date-time` to our own rules: a date may have no offset (D1).
var datesByRule = openapi3.WithStringFormatValidator("date-time", openapi3.NewCallbackValidator(func(string) error { return nil }))
