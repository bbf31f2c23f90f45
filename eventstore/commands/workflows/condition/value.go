package condition

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// value is a JSON object for CEL: a struct whose fields are read on demand.
type value struct {
	object *object
	of     reflect.Value // a struct
	path   string
	log    *log
	schema *schema
}

// errNoKey is CEL's error for a map's missing key.
func errNoKey(name string) error { return fmt.Errorf("no such key: %s", name) }

// member returns a struct field. It reports false if the field is absent from the JSON.
func (v *value) member(f *field) (reflect.Value, bool) {
	m := v.of.FieldByIndex(f.index)
	return m, !f.optional || !m.IsZero() && !emptyContainer(m)
}

func emptyContainer(m reflect.Value) bool {
	return (m.Kind() == reflect.Slice || m.Kind() == reflect.Map) && m.Len() == 0
}

func (v *value) has(f *field) bool {
	_, there := v.member(f)
	v.log.add(v.path+"."+f.name, func() string { return presence(there) })
	return there
}

func presence(there bool) string {
	if there {
		return "(present)"
	}
	return "(absent)"
}

// get returns a field of target. If target is no value, the field is absent.
func get(target any, f *field) (any, error) {
	v, is := target.(*value)
	if !is {
		return nil, errNoKey(f.name)
	}
	m, there := v.member(f)
	path := v.path + "." + f.name
	if !there {
		v.log.add(path, func() string { return presence(false) })
		return nil, errNoKey(f.name)
	}
	return v.schema.val(m, path, v.log), nil
}

// val returns a Go value as CEL sees its JSON.
func (s *schema) val(m reflect.Value, path string, l *log) ref.Val {
	for m.Kind() == reflect.Pointer || m.Kind() == reflect.Interface {
		if m.IsNil() {
			l.add(path, func() string { return "null" })
			return types.NullValue
		}
		m = m.Elem()
	}
	if m.Type().Implements(marshaler) {
		return scalar(types.String(text(m.Interface())), path, l)
	}
	switch m.Kind() {
	case reflect.String:
		return scalar(types.String(m.String()), path, l)
	case reflect.Bool:
		return scalar(types.Bool(m.Bool()), path, l)
	case reflect.Int, reflect.Int64, reflect.Int32:
		return scalar(types.Int(m.Int()), path, l)
	case reflect.Uint64, reflect.Uint32:
		return scalar(types.Int(m.Uint()), path, l)
	case reflect.Float64:
		return scalar(types.Double(m.Float()), path, l)
	case reflect.Struct:
		return &value{object: s.object(m.Type()), of: m, path: path, log: l, schema: s}
	case reflect.Slice:
		elements := make([]ref.Val, m.Len())
		for i := range elements {
			elements[i] = s.val(m.Index(i), path+"["+strconv.Itoa(i)+"]", l)
		}
		l.add(path+".size()", func() string { return strconv.Itoa(len(elements)) })
		return types.NewRefValList(types.DefaultTypeAdapter, elements)
	case reflect.Map:
		plain := make(map[string]any, m.Len())
		for k, e := range m.Seq2() {
			plain[k.String()] = e.Interface()
		}
		return entries{types.NewStringInterfaceMap(types.DefaultTypeAdapter, plain), path, l}
	default:
		return types.NewErr("%s cannot be read", path)
	}
}

// scalar notes a value that was read.
func scalar(v ref.Val, path string, l *log) ref.Val {
	l.add(path, func() string { return text(v.Value()) })
	return v
}

// text returns a value's JSON. For a string it omits the quotes.
func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// entries is a map for CEL that notes the entries that are read.
type entries struct {
	traits.Mapper
	path string
	log  *log
}

// Find reads an entry.
func (e entries) Find(key ref.Val) (ref.Val, bool) {
	found, there := e.Mapper.Find(key)
	e.log.add(fmt.Sprintf("%s[%q]", e.path, key.Value()), func() string {
		if !there {
			return presence(false)
		}
		return text(found.Value())
	})
	return found, there
}

// Get returns an entry.
func (e entries) Get(key ref.Val) ref.Val {
	e.Find(key) // it notes the entry
	return e.Mapper.Get(key)
}

// Contains reports whether there is an entry.
func (e entries) Contains(key ref.Val) ref.Val {
	_, there := e.Find(key)
	return types.Bool(there)
}

// Type and Value are of the interface of CEL values.
func (v *value) Type() ref.Type { return v.object.typ }
func (v *value) Value() any     { return v }

// Equal compares the JSON.
func (v *value) Equal(other ref.Val) ref.Val {
	o, is := other.(*value)
	return types.Bool(is && o.object == v.object && reflect.DeepEqual(o.of.Interface(), v.of.Interface()))
}

// ConvertToNative returns an error: conditions do not need it.
func (v *value) ConvertToNative(reflect.Type) (any, error) {
	return nil, errors.New("an object cannot be converted")
}

// ConvertToType converts an object only to its own type, or to CEL's type of types.
func (v *value) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.TypeType:
		return v.object.typ
	case v.object.typ:
		return v
	}
	return types.NewErr("an object cannot be converted")
}

// Get returns the field of a name that is known only at run time.
func (v *value) Get(index ref.Val) ref.Val {
	name, _ := index.(types.String)
	f := v.object.fields[string(name)]
	if f == nil {
		return types.WrapErr(errNoKey(string(name)))
	}
	found, err := get(v, f)
	if err != nil {
		return types.WrapErr(err)
	}
	return found.(ref.Val)
}

// IsSet reports whether the field of a name that is known only at run time is present.
func (v *value) IsSet(index ref.Val) ref.Val {
	name, _ := index.(types.String)
	f := v.object.fields[string(name)]
	return types.Bool(f != nil && v.has(f))
}
