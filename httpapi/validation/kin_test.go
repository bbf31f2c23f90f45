package validation

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/domain"
	"payledger/domain/seedtest"
)

// operations are those of openapi.yaml.
func operations(t testing.TB) map[string]*Operation {
	t.Helper()
	text, err := os.ReadFile("../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	return Operations(doc)
}

// ofKin adds the violations that kin-openapi, a general validator, finds.
func ofKin(found *Violations, tree any, err error) {
	if many, is := errors.AsType[openapi3.MultiError](err); is {
		for _, one := range many {
			ofKin(found, tree, one)
		}
		return
	}
	one, is := errors.AsType[*openapi3.SchemaError](err)
	if !is {
		return
	}
	path := pathOf(tree, one.JSONPointer())
	switch one.SchemaField {
	case "properties":
		name, err := strconv.Unquote(one.Reason[strings.IndexByte(one.Reason, '"') : strings.LastIndexByte(one.Reason, '"')+1])
		if err != nil {
			panic(err)
		}
		found.Add(path+Member(name), "is not a known field")
	case "required":
		found.Add(path, "is required")
	default:
		s := one.Schema
		if one.SchemaField == "allOf" { // of one schema: the reader shows that one
			s = s.AllOf[0].Value
			found.Add(path, describe(s, "enum", one.Value))
			return
		}
		found.Add(path, describe(s, one.SchemaField, one.Value))
	}
}

// absent removes the null fields that count as absent.
func absent(tree any, n nulls, arrays, metadata bool) {
	switch tree := tree.(type) {
	case map[string]any:
		for name, value := range tree {
			if value == nil && (metadata || n == nullsDrop || n == nullsClear && arrays) {
				delete(tree, name)
			}
			absent(value, n, arrays, false)
		}
	case []any:
		for _, element := range tree {
			absent(element, n, true, false)
		}
	}
}

// some returns a value for a schema; one in wrong of its parts does not fit.
func some(r *rand.Rand, s *openapi3.Schema, wrong int) any {
	if len(s.AllOf) > 0 {
		s = s.AllOf[0].Value
	}
	if len(s.AnyOf) > 0 {
		s = s.AnyOf[r.IntN(len(s.AnyOf))].Value
	}
	if r.IntN(wrong) == 0 {
		return []any{nil, true, 1.0, 1.5, -1.0, 1e300, "", "x", strings.Repeat("é", 300), []any{}, []any{1.0}, map[string]any{}, map[string]any{"x": 1.0}}[r.IntN(13)]
	}
	switch {
	case s.Type.Is("object"):
		object := map[string]any{}
		for name, field := range s.Properties {
			if name != "options" && r.IntN(3) > 0 {
				object[name] = some(r, field.Value, wrong)
			}
		}
		if r.IntN(wrong) == 0 {
			object["a"+strconv.Itoa(r.IntN(3))] = 1.0
		}
		if other := s.AdditionalProperties.Schema; other != nil {
			for i := range r.IntN(10) * (1 + 9*r.IntN(2)) {
				object["k"+strconv.Itoa(i)] = some(r, other.Value, wrong)
			}
		}
		return object
	case s.Type.Is("array"):
		array := []any{}
		for range r.IntN(4) * (1 + 7*(1-min(1, r.IntN(wrong)))) {
			array = append(array, some(r, s.Items.Value, wrong))
		}
		return array
	case len(s.Enum) > 0:
		return s.Enum[r.IntN(len(s.Enum))]
	case s.Type.Is("string"):
		return strings.Repeat("z", r.IntN(4))
	case s.Type.Is("boolean"):
		return true
	default:
		return float64(r.IntN(40) - 4)
	}
}

// inside reports whether a violation is about the elements of an array or object that is refused as
// a whole.
func inside(of domain.Violation, all Violations) bool {
	return slices.ContainsFunc(all, func(v domain.Violation) bool {
		return strings.Contains(v.Description, "must have at most") && strings.HasPrefix(of.Path, v.Path) && of != v
	})
}

// TestReaderAgreesWithKin: the reader finds the violations of the schema that a general validator
// finds in the parsed body, and keeps the fields that fit.
func TestReaderAgreesWithKin(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(seedtest.Seed(t), 14))
	refused, rewritten := 0, 0
	for id, o := range operations(t) {
		if o.Body == nil {
			continue
		}
		for i := range 50 {
			tree, _ := some(r, o.Body, 3+i%40).(map[string]any)
			text, err := json.Marshal(tree)
			if err != nil || tree == nil {
				continue
			}
			doc, err := o.Read(text)
			if err != nil {
				t.Fatalf("%s %s: %v", id, text, err)
			}
			absent(tree, o.nulls, false, false)
			if metadata, is := tree["metadata"].(map[string]any); is {
				absent(metadata, nullsStay, false, true)
			}
			var want Violations
			ofKin(&want, tree, o.Body.VisitJSON(tree, openapi3.MultiErrors(), datesByRule))
			if want.full() || doc.found.full() {
				continue
			}
			want = slices.DeleteFunc(want.sorted(), func(v domain.Violation) bool { return inside(v, want) || twiceWrong(v, want) })
			got := slices.DeleteFunc(slices.Clone(doc.found).sorted(), func(v domain.Violation) bool { return twiceWrong(v, want) })
			if !slices.Equal(got, want) {
				t.Fatalf("%s %s:\n got %v\nwant %v", id, text, got, want)
			}
			refused += min(1, len(want))
			var decoded map[string]any
			if err := json.Unmarshal(doc.Text, &decoded); err != nil {
				t.Fatalf("%s %s: the text %s: %v", id, text, doc.Text, err)
			}
			rewritten += min(1, len(text)-len(doc.Text))
			if len(want) == 0 {
				if kept, err := json.Marshal(decoded); err != nil || string(kept) != string(marshalled(t, tree)) {
					t.Fatalf("%s %s: the text %s", id, text, doc.Text)
				}
			}
		}
	}
	if refused < 400 || rewritten < 40 {
		t.Errorf("%d bodies were refused, %d rewritten", refused, rewritten)
	}
}

// twiceWrong reports whether a violation says that elements of an array repeat of which one has a
// fault of its own. Our reader does not compare arrays and objects, which no such array may have.
func twiceWrong(v domain.Violation, all []domain.Violation) bool {
	return v.Description == "must not name anything twice" &&
		slices.ContainsFunc(all, func(other domain.Violation) bool { return strings.HasPrefix(other.Path, v.Path+"[") })
}

func marshalled(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
