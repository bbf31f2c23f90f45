package eventjson_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/eventstore"
	"payledger/projections/eventjson/eventjsontest"
)

// TestGoldenEvents: an event of every type and schema version, with every field set, matches the schema of its type in
// asyncapi.yaml. The golden events have arbitrary values, so only fields and types are checked here.
func TestGoldenEvents(t *testing.T) {
	t.Parallel()
	schemas, err := eventjsontest.Events()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range schemas {
		loosen(s, map[*openapi3.Schema]bool{})
	}
	for _, a := range registry() {
		for _, e := range a.events {
			files, _ := filepath.Glob("../../eventstore/testdata/golden/" + e.Type() + ".*.hex")
			if len(files) == 0 {
				t.Errorf("%s has no golden event", e.Type())
			}
			for _, file := range files {
				text, err := a.fact(readGolden(t, a.name, e.Type(), file))
				if err != nil {
					t.Fatal(file, err)
				}
				var decoded any
				if err := json.Unmarshal(text, &decoded); err != nil {
					t.Fatal(file, err)
				}
				if err := schemas[e.Type()+".event"].Value.VisitJSON(decoded, openapi3.MultiErrors()); err != nil {
					t.Errorf("%s: %v\n%s", file, err, text)
				}
			}
		}
	}
}

func readGolden(t *testing.T, aggregate, typ, file string) *eventstore.Recorded {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	body, err := hex.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	if err != nil {
		t.Fatal(file, err)
	}
	schema, err := strconv.Atoi(strings.Split(strings.TrimPrefix(filepath.Base(file), typ+"."), ".")[0])
	if err != nil {
		t.Fatal(file, err)
	}
	return &eventstore.Recorded{Key: eventstore.Key{Account: "a", Aggregate: aggregate, ID: "id"}, Type: typ, Schema: schema, Revision: 1, Body: body}
}

// loosen removes the rules about values from a schema and from the schemas in it.
func loosen(ref *openapi3.SchemaRef, done map[*openapi3.Schema]bool) {
	if ref == nil || done[ref.Value] {
		return
	}
	s := ref.Value
	done[s] = true
	s.Enum, s.Pattern, s.Format = nil, "", ""
	for _, p := range s.Properties {
		loosen(p, done)
	}
	for _, list := range []openapi3.SchemaRefs{s.AllOf, s.AnyOf} {
		for _, p := range list {
			loosen(p, done)
		}
	}
	loosen(s.Items, done)
}
