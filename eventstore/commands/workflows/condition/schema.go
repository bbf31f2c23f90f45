package condition

import (
	"encoding/json"
	"reflect"
	"strings"

	"cel.dev/cel-go/common/types"
)

// field is a member of a JSON object, with its struct field.
type field struct {
	name     string
	index    []int
	typ      *types.Type
	optional bool // absent from the JSON when it is zero
	cel      *types.FieldType
}

// object is the known type of a JSON object.
type object struct {
	typ    *types.Type
	names  []string
	fields map[string]*field
}

// schema holds all known objects, by their Go types and by the names of their CEL types.
type schema struct {
	byType map[reflect.Type]*object
	byName map[string]*object
}

// typePrefix begins the names of our types, so that expressions cannot name them: no identifier
// begins with it.
const typePrefix = "json:"

var marshaler = reflect.TypeFor[json.Marshaler]()

// typeOf returns the CEL type of a Go type's JSON.
func (s *schema) typeOf(t reflect.Type) *types.Type {
	if t.Implements(marshaler) {
		return types.StringType // dates
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.typeOf(t.Elem())
	case reflect.String:
		return types.StringType
	case reflect.Bool:
		return types.BoolType
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Uint64, reflect.Uint32:
		return types.IntType
	case reflect.Float64:
		return types.DoubleType
	case reflect.Slice:
		return types.NewListType(s.typeOf(t.Elem()))
	case reflect.Map:
		return types.NewMapType(types.StringType, types.DynType)
	case reflect.Struct:
		return s.object(t).typ
	default:
		return types.DynType
	}
}

// object reads a struct's fields, once.
func (s *schema) object(t reflect.Type) *object {
	if known := s.byType[t]; known != nil {
		return known
	}
	name := typePrefix + t.String()
	o := &object{typ: types.NewObjectType(name), fields: map[string]*field{}}
	s.byType[t], s.byName[name] = o, o
	s.addFields(o, t, nil)
	return o
}

func (s *schema) addFields(o *object, t reflect.Type, parents []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		index := append(append([]int{}, parents...), i)
		switch {
		case !f.IsExported() || name == "-":
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			s.addFields(o, f.Type, index)
		default:
			if name == "" {
				name = f.Name
			}
			o.add(&field{name: name, index: index, typ: s.memberType(f.Type, options), optional: strings.Contains(options, "omit")})
		}
	}
}

// memberType is typeOf for a member: a pointer that is always present may be null.
func (s *schema) memberType(t reflect.Type, options string) *types.Type {
	typ := s.typeOf(t)
	if t.Kind() == reflect.Pointer && options == "" && typ.IsAssignableType(types.StringType) {
		return types.NewNullableType(typ)
	}
	return typ
}

func (o *object) add(f *field) {
	f.cel = &types.FieldType{
		Type:    f.typ,
		IsSet:   func(target any) bool { v, is := target.(*value); return is && v.has(f) },
		GetFrom: func(target any) (any, error) { return get(target, f) },
	}
	if o.fields[f.name] == nil {
		o.names = append(o.names, f.name)
	}
	o.fields[f.name] = f
}

// provider adds our types to CEL's own.
type provider struct {
	*types.Registry
	schema *schema
}

// FindStructType finds a type by its name.
func (p provider) FindStructType(name string) (*types.Type, bool) {
	if o := p.schema.byName[name]; o != nil {
		return types.NewTypeTypeWithParam(o.typ), true
	}
	return p.Registry.FindStructType(name)
}

// FindStructFieldNames lists the fields of a type.
func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if o := p.schema.byName[name]; o != nil {
		return o.names, true
	}
	return p.Registry.FindStructFieldNames(name)
}

// FindStructFieldType finds a field of a type.
func (p provider) FindStructFieldType(name, fieldName string) (*types.FieldType, bool) {
	o := p.schema.byName[name]
	if o == nil {
		return p.Registry.FindStructFieldType(name, fieldName)
	}
	if f := o.fields[fieldName]; f != nil {
		return f.cel, true
	}
	return nil, false
}
