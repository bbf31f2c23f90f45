package validation

import (
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/domain"
	"payledger/httpapi/nearmiss"
)

// Operation is the part of openapi.yaml about the requests of one call.
type Operation struct {
	Method, Path string
	Model        string                         // the name of the body's schema
	Body         *openapi3.Schema               // nil for a call without a body
	body         *shape                         // of Body
	Optional     bool                           // an empty body and null mean {} (D1)
	Query        map[string]*openapi3.Parameter // by name
	parameters   nearmiss.Names                 // of Query
	nulls        nulls                          // in the body
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
				o.body, o.nulls = shapeOf(o.Body, "$"), nullsOf(method, at)
			}
			o.parameters = nearmiss.New(slices.Collect(maps.Keys(o.Query)))
			all[op.OperationID] = o
		}
	}
	return all
}

// Request is the checked part of a request.
type Request struct {
	Query string            // as it was sent
	Vars  map[string]string // the variable parts of the path
	Body  Document
	Rule  func(*Violations) // adds the violations that the schemas cannot express, of the body if there is one; nil: none
}

// Check validates query and body with the schemas and rules, and reports all violations at once
// (D3).
func (o *Operation) Check(r Request) error {
	query, body := o.queryViolations(r), Violations(nil)
	for name, value := range r.Vars {
		if fault := textFault(value); fault != "" {
			query.Add("$"+Member(name), fault)
		}
	}
	query = query.sorted()
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

// The calls below managementPath give null no meaning (D20), but for those below managedPayments,
// which have the bodies of the merchant's calls.
const managementPath, managedPayments = "/management/", "/management/payments/"

func nullsOf(method, path string) nulls {
	switch {
	case strings.HasPrefix(path, managementPath) && !strings.HasPrefix(path, managedPayments):
		return nullsStay
	case method == http.MethodPatch:
		return nullsClear
	default:
		return nullsDrop
	}
}

// Read parses a body, and notes its violations of the schema for Check. Its error is about JSON
// (D1).
func (o *Operation) Read(body []byte) (Document, error) { return read(body, o.body, o.nulls) }

func (o *Operation) bodyViolations(r Request) Violations {
	found := slices.Clone(r.Body.found)
	if !found.full() {
		found.ofOptions(domain.JSON(r.Body.options), o.Method == http.MethodPatch)
	}
	if r.Rule != nil && !found.full() {
		r.Rule(&found)
	}
	return found.sorted()
}

// datesByRule leaves `format: date-time` to our own rules: a date may have no offset (D1).
var datesByRule = openapi3.WithStringFormatValidator("date-time", openapi3.NewCallbackValidator(func(string) error { return nil }))
