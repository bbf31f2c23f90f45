// Package eventjsontest checks the JSON of events against asyncapi.yaml, for tests of any package.
// It appends each event that can be the first one of its aggregate, for tests of packages that show
// events.
//
// The package must not know: how the JSON is rendered.
package eventjsontest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/domain/seedtest"
	"payledger/eventstore/engine"
	"payledger/eventstore/format"
	"payledger/eventstore/ordered"
	"payledger/projections/eventjson"
)

// uuid validates `format: uuid`: any variant and version of RFC 9562.
var uuid = openapi3.WithStringFormatValidator("uuid", openapi3.NewRegexpFormatValidator(openapi3.FormatOfStringForUUIDOfRFC9562))

// Events returns the schemas of asyncapi.yaml, loaded again. The schema of a whole event has the
// event type as its name.
func Events() (openapi3.Schemas, error) {
	_, schemas, found := bytes.Cut(eventjson.AsyncAPI(), []byte("\n  schemas:\n"))
	if !found {
		return nil, errors.New("asyncapi.yaml has no schemas")
	}
	return schemasOf(schemas)
}

func schemasOf(schemas []byte) (openapi3.Schemas, error) {
	frame := "openapi: 3.1.0\ninfo: {title: events, version: '1'}\npaths: {}\ncomponents:\n  schemas:\n"
	doc, err := openapi3.NewLoader().LoadFromData(append([]byte(frame), schemas...))
	if err != nil {
		return nil, fmt.Errorf("asyncapi.yaml: %w", err)
	}
	for _, schema := range doc.Components.Schemas {
		takeNull(schema.Value)
	}
	return doc.Components.Schemas, nil
}

// takeNull allows null for items without rules, as JSON Schema does. The library allows null only
// if a schema is nullable.
func takeNull(s *openapi3.Schema) {
	for _, property := range s.Properties {
		for _, one := range property.Value.AnyOf {
			if items := one.Value.Items; items != nil && items.Value.IsEmpty() {
				items.Value.Nullable = true
			}
		}
	}
}

var loadEvents = sync.OnceValues(Events)

// CheckEvent checks the rendered JSON of an event against the schema of its type in asyncapi.yaml.
func CheckEvent(text []byte) error {
	schemas, err := loadEvents()
	if err != nil {
		return err
	}
	var event map[string]any
	if err := json.Unmarshal(text, &event); err != nil {
		return err
	}
	name, _ := event["type"].(string)
	schema := schemas[name]
	if schema == nil {
		return fmt.Errorf("asyncapi.yaml has no event type %q", name)
	}
	if err := schema.Value.VisitJSON(event, openapi3.EnableFormatValidation(), openapi3.MultiErrors(), uuid); err != nil {
		return fmt.Errorf("%s at position %v: %w", name, event["position"], err)
	}
	return nil
}

// CheckHeaders checks the headers of a message of the stream EVENTS against their schema in
// asyncapi.yaml.
func CheckHeaders(headers map[string]any) error {
	_, text, found := bytes.Cut(eventjson.AsyncAPI(), []byte("      contentType: application/json\n      headers:\n"))
	text, _, ends := bytes.Cut(text, []byte("\n  messages:\n"))
	if !found || !ends {
		return errors.New("asyncapi.yaml has no headers")
	}
	schemas, err := schemasOf(append([]byte("      headers:\n"), text...))
	if err != nil {
		return err
	}
	return schemas["headers"].Value.VisitJSON(headers, openapi3.EnableFormatValidation(), openapi3.MultiErrors(), uuid)
}

const (
	checkedEvents = 5000
	// Of the events of a type, a sample has the first ones of all logs of the test program, and
	// then each sampleStep-th.
	sampleStart, sampleStep = 24, 16
)

// ofTypes counts the events of all logs of the test program by type.
var ofTypes struct {
	sync.Mutex
	seen map[string]int
}

// inSample counts an event, and reports whether a sample has it.
func inSample(kind string) bool {
	ofTypes.Lock()
	defer ofTypes.Unlock()
	if ofTypes.seen == nil {
		ofTypes.seen = map[string]int{}
	}
	ofTypes.seen[kind]++
	n := ofTypes.seen[kind]
	return n <= sampleStart || n%sampleStep == 0
}

// CheckLog checks the JSON of a log's events against asyncapi.yaml, at most the first
// checkedEvents. Without the build tag system it takes a sample of the events of each type; with
// -short it checks nothing: under the race detector it takes a tenth of the time, and shows
// nothing.
func CheckLog(t testing.TB, store *engine.Store) {
	t.Helper()
	if testing.Short() {
		return
	}
	ctx, position := context.WithoutCancel(t.Context()), uint64(0)
	for shard := range store.Shards() {
		last, err := store.LastSeq(ctx, shard)
		if err == nil {
			err = store.Groups(ctx, shard, 1, format.GroupOf(last), func(g *format.Group) error {
				for _, r := range g.Frames {
					if position++; position > checkedEvents {
						return nil
					}
					if seedtest.Sampled() && !inSample(r.Type) {
						continue
					}
					if err := checkRecorded(ctx, store, ordered.Event{Recorded: r, Position: position}); err != nil {
						t.Error(err)
					}
				}
				return nil
			})
		}
		if err != nil {
			t.Errorf("shard %d: %v", shard, err)
		}
	}
}

func checkRecorded(ctx context.Context, store *engine.Store, e ordered.Event) error {
	rendered, err := eventjson.Render(ctx, store, e)
	if err != nil {
		return err
	}
	text, err := json.Marshal(rendered)
	if err != nil {
		return err
	}
	if err := CheckEvent(text); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return checkValues(e.Revision, e.Type, text)
}
