package adapter

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/dialects"
)

// fields are the fields of an object, or of a list's elements, by name; nil: a string, a number or
// a boolean.
type fields map[string]fields

var operationFields = fields{"id": nil, "processor": nil, "type": nil, "idempotencyKey": nil, "reference": nil, "answer": answerFields}

func fieldsOf(t reflect.Type) fields {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return nil
	}
	named := fields{}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "-" {
			named[name] = fieldsOf(t.Field(i).Type)
		}
	}
	return named
}

func fieldsFor(name processor.Name, tree any) fields {
	if object, _ := tree.(map[string]any); object["type"] != string(processor.Dispute) {
		return operationFields
	}
	form := dialects.For(name, encoded(tree.(map[string]any)["dispute"]))
	return fields{"id": nil, "processor": nil, "type": nil, "reference": nil, "dispute": disputeForms[form.Type]}
}

// disputeForms are the fields of every form of a dispute.
var disputeForms = func() map[reflect.Type]fields {
	all := map[reflect.Type]fields{}
	for _, form := range dialects.All() {
		all[form.Type] = fieldsOf(form.Type)
	}
	return all
}()

// splitTree splits a decoded JSON text into the fields of the protocol, which are stored in clear,
// and all others: they may be personal data. A text without others is returned unchanged. A text
// that could not be decoded is rest.
func (f fields) splitTree(text []byte, tree any) (named []byte, rest string) {
	if tree == nil {
		return nil, string(text)
	}
	in, out := f.split(tree)
	if out == nil {
		return text, ""
	}
	return encoded(in), string(encoded(out))
}

// split splits a value into the fields of the protocol and all others with their names; nil: none.
func (f fields) split(value any) (named, rest any) {
	switch value := value.(type) {
	case map[string]any:
		if f != nil {
			return f.splitObject(value)
		}
	case []any:
		if f != nil {
			return f.splitList(value)
		}
	default:
		if f == nil || value == nil {
			return value, nil
		}
	}
	return nil, value
}

func (f fields) splitObject(object map[string]any) (named, rest any) {
	in, out := map[string]any{}, map[string]any{}
	for name, value := range object {
		inner, known := f[name]
		if !known {
			out[name] = value
			continue
		}
		inside, beside := inner.split(value)
		if inside != nil || value == nil {
			in[name] = inside
		}
		if beside != nil {
			out[name] = beside
		}
	}
	if len(out) == 0 {
		return in, nil
	}
	return in, out
}

// splitList splits each element. Both results keep the elements' places.
func (f fields) splitList(list []any) (named, rest any) {
	in, out, some := make([]any, len(list)), make([]any, len(list)), false
	for i, value := range list {
		in[i], out[i] = f.split(value)
		some = some || out[i] != nil
	}
	if !some {
		return in, nil
	}
	return in, out
}

func encoded(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
