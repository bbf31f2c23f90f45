package eventjson_test

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/domain/dispute"
	"payledger/domain/inbox"
	"payledger/domain/processor"
	"payledger/domain/workflow"
	"payledger/projections/eventjson"
)

// meanings are the texts of EVENTS.md. The key of a type is its name; the key of a field has the
// type's and the field's name.
type meanings map[string]string

func readMeanings(t *testing.T) meanings {
	t.Helper()
	text, err := os.ReadFile("../../domain/EVENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	all, typ := meanings{}, ""
	plain := strings.NewReplacer("&lt;", "<", `\|`, "|")
	for line := range strings.Lines(string(text)) {
		line = plain.Replace(strings.TrimSpace(line))
		cells := strings.SplitN(line, " | ", 4)
		switch {
		case strings.HasPrefix(line, "### "):
			typ = strings.Trim(line, "# `")
		case strings.HasPrefix(line, "| `") && len(cells) == 4:
			all[typ+" "+strings.Trim(cells[0], "| `")] = strings.TrimSuffix(cells[3], " |")
		case line != "" && line[0] != '|' && typ != "" && all[typ] == "":
			all[typ] = line
		}
	}
	return all
}

// schemas generates the schemas of Go types, for the JSON that eventjson writes.
type schemas struct {
	t        *testing.T
	meanings meanings
	objects  map[string]node // schemas of named types
}

// dateTime is the schema of times (D1).
var dateTime = node{{"type", "string"}, {"format", "date-time"}, {"pattern", "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z$"}}

// fingerprint is the schema of a credential's fingerprint.
var fingerprint = node{{"type", "string"}, {"pattern", "^#[0-9a-f]{24}$"}, {"description", "stands for a credential: the same in all events"}}

// enumerations are the values of string types. A processor's own codes have no schema, because any
// text is possible.
var enumerations = map[reflect.Type]list{
	reflect.TypeFor[processor.Name]():    texts(processor.Names),
	reflect.TypeFor[processor.Outcome](): texts([]processor.Outcome{processor.Authenticated, processor.AuthenticationFailed}),
	reflect.TypeFor[domain.Failure]():    texts([]domain.Failure{domain.ApplicationError, domain.GatewayRejected, domain.GatewayTimeout, domain.IssuerDeclined}),
	reflect.TypeFor[attempt.Status]():    texts([]attempt.Status{attempt.RequiresApproval, attempt.Approved, attempt.Aborted, attempt.Expired}),
	reflect.TypeFor[inbox.Outcome]():     texts([]inbox.Outcome{inbox.Waiting, inbox.Applied, inbox.Rejected}),
	reflect.TypeFor[dispute.Disposition](): texts([]dispute.Disposition{
		dispute.DispositionOpened, dispute.DispositionChanged, dispute.DispositionNoted, dispute.DispositionRejected,
	}),
	reflect.TypeFor[workflow.Status](): texts([]workflow.Status{
		workflow.Skipped, workflow.Waiting, workflow.Running, workflow.Succeeded, workflow.Failed,
	}),
	reflect.TypeFor[workflow.StepState](): texts([]workflow.StepState{
		workflow.StepOpen, workflow.StepRequested, workflow.StepSucceeded, workflow.StepFailed,
	}),
}

func texts[T ~string](values []T) (l list) {
	for _, v := range values {
		l = append(l, string(v))
	}
	return l
}

// object returns the schema of a struct. bearer means that its field id is a credential.
func (s *schemas) object(typ reflect.Type, meaning string, bearer bool) node {
	var properties node
	var required list
	var add func(typ reflect.Type)
	add = func(typ reflect.Type) {
		for f := range typ.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			optional := strings.Contains(options, "omit") // from the log, or from the JSON only: omitzero
			switch {
			case f.Anonymous && name == "":
				add(f.Type)
			case name == "" || name == "-" || eventjson.Hides(name, sample(f.Type)):
			default:
				schema := s.of(f.Type, !optional)
				if eventjson.Credentials[name] || bearer && name == "id" {
					schema = fingerprint
				}
				if text := s.meanings[meaning+" "+name]; text != "" && !reflect.DeepEqual(schema, fingerprint) {
					schema = described(schema, text)
				}
				properties = append(properties, field{name, schema})
				if !optional {
					required = append(required, name)
				}
			}
		}
	}
	add(typ)
	n := node{{"type", "object"}, {"additionalProperties", false}}
	if text := s.meanings[meaning]; text != "" {
		n = append(n, field{"description", text})
	}
	if len(required) > 0 {
		n = append(n, field{"required", required})
	}
	if len(properties) > 0 {
		n = append(n, field{"properties", properties})
	}
	return n
}

// described adds a description. A schema that is a reference cannot have one.
func described(schema node, text string) node {
	if len(schema) > 0 && schema[0].name == "$ref" {
		return node{{"allOf", list{schema}}, {"description", text}}
	}
	return append(slices.Clone(schema), field{"description", text})
}

// sample returns a value of the type in the form of a decoded event.
func sample(typ reflect.Type) any {
	switch {
	case typ.Kind() == reflect.Pointer:
		return sample(typ.Elem())
	case typ == reflect.TypeFor[[]byte]():
		return []byte{}
	case typ.Kind() == reflect.String:
		return "text"
	case typ.Kind() == reflect.Struct:
		fields := map[string]any{}
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields[name] = true
		}
		return fields
	}
	return nil
}

// of returns the schema of a type. With null, empty values are written too, and an empty list, map
// or pointer is written as null.
func (s *schemas) of(typ reflect.Type, null bool) node {
	switch {
	case typ == reflect.TypeFor[time.Time]():
		return dateTime
	case typ == reflect.TypeFor[domain.Amount]():
		return node{{"type", "integer"}, {"format", "int64"}}
	case typ == reflect.TypeFor[domain.Currency]():
		return node{{"type", "string"}, {"pattern", "^([A-Z]{3})?$"}}
	case typ == reflect.TypeFor[domain.JSON]():
		return node{} // any value
	case typ == reflect.TypeFor[domain.Metadata]():
		return nullable(node{{"type", "object"}, {"additionalProperties", node{{"type", list{"string", "integer", "boolean"}}}}}, null)
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return nullable(s.of(typ.Elem(), false), null)
	case reflect.Slice:
		return nullable(node{{"type", "array"}, {"items", s.of(typ.Elem(), true)}}, null)
	case reflect.Map:
		return nullable(node{{"type", "object"}, {"additionalProperties", s.of(typ.Elem(), true)}}, null)
	case reflect.Struct:
		name := typ.String()
		if _, known := s.objects[name]; !known {
			s.objects[name] = nil // a type may contain itself
			s.objects[name] = s.object(typ, name, false)
		}
		return node{{"$ref", "#/components/schemas/" + name}}
	case reflect.String:
		if values := enumerations[typ]; values != nil {
			return node{{"type", "string"}, {"enum", values}}
		}
		return node{{"type", "string"}}
	case reflect.Bool:
		return node{{"type", "boolean"}}
	case reflect.Float64:
		return node{{"type", "number"}}
	case reflect.Int, reflect.Int64:
		return node{{"type", "integer"}}
	case reflect.Uint64:
		return node{{"type", "integer"}, {"minimum", 0}}
	}
	s.t.Fatalf("no schema for %s", typ)
	return nil
}

// nullable adds null to the types that a schema allows.
func nullable(schema node, null bool) node {
	switch {
	case !null:
		return schema
	case schema[0].name == "$ref":
		return node{{"anyOf", list{schema, node{{"type", "null"}}}}}
	}
	schema = slices.Clone(schema)
	schema[0].value = list{schema[0].value, "null"}
	return schema
}

var loadOpenAPI = sync.OnceValues(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromFile("../../httpapi/openapi.yaml") })

// addOpenAPI adds a schema of openapi.yaml, and the schemas that it refers to, converted to JSON
// Schema.
func (s *schemas) addOpenAPI(name string) {
	if _, known := s.objects[name]; known {
		return
	}
	document, err := loadOpenAPI()
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := document.Components.Schemas[name].Value.MarshalJSON()
	if err != nil {
		s.t.Fatal(err)
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		s.t.Fatal(err)
	}
	s.objects[name] = nil
	s.objects[name] = ordered(s.inJSONSchema(decoded)).(node)
}

// inJSONSchema converts a schema of OpenAPI 3.0 to JSON Schema.
func (s *schemas) inJSONSchema(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = s.inJSONSchema(v[name])
		}
		if to, is := v["$ref"].(string); is {
			s.addOpenAPI(strings.TrimPrefix(to, "#/components/schemas/"))
		}
		if v["nullable"] == true && v["type"] != nil { // without a type, null is allowed anyway
			v["type"] = []any{v["type"], "null"}
		}
		delete(v, "nullable")
		return v
	case []any:
		for i := range v {
			v[i] = s.inJSONSchema(v[i])
		}
	}
	return v
}
