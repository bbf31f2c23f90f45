package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// encoder appends values to b as msgpack; doc.go describes the form. It keeps the first error.
type encoder struct {
	b   []byte
	err error
}

// typeEncoder encodes the values of one type. The msgpack library, which reads the type of each
// value anew, takes 20 µs for a payment's state with all fields, and this 8 µs (BenchmarkMarshal).
type typeEncoder struct {
	write func(e *encoder, v reflect.Value)
	empty func(v reflect.Value) bool // the value is left out of a struct, if its field has omitempty
}

// typeEncoders are the encoders of all types that were encoded so far: *typeEncoder by
// reflect.Type.
var typeEncoders sync.Map

func (e *encoder) value(v reflect.Value) {
	if !v.IsValid() {
		e.b = append(e.b, 0xc0)
		return
	}
	t, known := typeEncoders.Load(v.Type())
	if !known {
		t, _ = typeEncoders.LoadOrStore(v.Type(), encoderOf(v.Type(), map[reflect.Type]*typeEncoder{}))
	}
	t.(*typeEncoder).write(e, v)
}

// encoderOf makes the encoder of a type. begun are those that are being made: a type may contain
// itself.
func encoderOf(t reflect.Type, begun map[reflect.Type]*typeEncoder) *typeEncoder {
	if known := begun[t]; known != nil {
		return known
	}
	made := &typeEncoder{}
	begun[t] = made
	switch {
	case t == reflect.TypeFor[time.Time]():
		*made = typeEncoder{writeTime, noTime}
	case t.Kind() == reflect.Struct:
		structEncoder(made, t, begun)
	case t.Kind() == reflect.Pointer:
		to := encoderOf(t.Elem(), begun)
		*made = typeEncoder{orNil(func(e *encoder, v reflect.Value) { to.write(e, v.Elem()) }), reflect.Value.IsNil}
		if t.Elem() == reflect.TypeFor[time.Time]() {
			made.empty = func(v reflect.Value) bool { return v.IsNil() || noTime(v.Elem()) }
		}
	case t.Kind() == reflect.Interface:
		*made = typeEncoder{orNil(func(e *encoder, v reflect.Value) { e.value(v.Elem()) }), reflect.Value.IsNil}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		*made = typeEncoder{orNil(writeBytes), hasNone}
	case t.Kind() == reflect.Slice:
		element := encoderOf(t.Elem(), begun)
		*made = typeEncoder{orNil(func(e *encoder, v reflect.Value) { writeSlice(e, v, element) }), hasNone}
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		element := encoderOf(t.Elem(), begun)
		*made = typeEncoder{orNil(func(e *encoder, v reflect.Value) { writeMap(e, v, element) }), hasNone}
	default:
		*made = typeEncoder{scalarWriter(t.Kind()), reflect.Value.IsZero}
	}
	return made
}

func hasNone(v reflect.Value) bool { return v.Len() == 0 }

func noTime(v reflect.Value) bool {
	at, _ := reflect.TypeAssert[time.Time](v)
	return at.IsZero()
}

func orNil(write func(*encoder, reflect.Value)) func(*encoder, reflect.Value) {
	return func(e *encoder, v reflect.Value) {
		if v.IsNil() {
			e.b = append(e.b, 0xc0)
			return
		}
		write(e, v)
	}
}

func scalarWriter(kind reflect.Kind) func(*encoder, reflect.Value) {
	switch kind {
	case reflect.String:
		return func(e *encoder, v reflect.Value) { e.text(v.String()) }
	case reflect.Bool:
		return writeBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return writeInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(e *encoder, v reflect.Value) { e.uint(v.Uint()) }
	case reflect.Float64:
		return func(e *encoder, v reflect.Value) {
			e.b = binary.BigEndian.AppendUint64(append(e.b, 0xcb), math.Float64bits(v.Float()))
		}
	default:
		return func(e *encoder, v reflect.Value) {
			e.err = fmt.Errorf("eventstore: a value of type %s cannot be stored", v.Type())
		}
	}
}

type structField struct {
	*typeEncoder
	key       []byte // the name, encoded
	index     []int
	omitEmpty bool
}

// structEncoder encodes a struct as a map of its fields, in their order; fields of embedded structs
// stand in their place.
func structEncoder(made *typeEncoder, t reflect.Type, begun map[reflect.Type]*typeEncoder) {
	var fields []structField
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get(fieldTag), ",")
		if name == "-" || f.Anonymous || !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		key := encoder{}
		key.text(name)
		fields = append(fields, structField{encoderOf(f.Type, begun), key.b, f.Index, options == "omitempty"})
	}
	made.write = func(e *encoder, v reflect.Value) { writeStruct(e, v, fields) }
	made.empty = func(v reflect.Value) bool {
		return !slices.ContainsFunc(fields, func(f structField) bool { return !f.omitted(v) })
	}
}

func (f *structField) of(v reflect.Value) reflect.Value {
	for _, i := range f.index {
		v = v.Field(i)
	}
	return v
}

func (f *structField) omitted(v reflect.Value) bool { return f.omitEmpty && f.empty(f.of(v)) }

func writeStruct(e *encoder, v reflect.Value, fields []structField) {
	var present [64]bool
	n := 0
	for i := range fields {
		if present[i] = !fields[i].omitted(v); present[i] {
			n++
		}
	}
	e.length(n, 0x80, 0xde)
	for i := range fields {
		if f := &fields[i]; present[i] {
			e.b = append(e.b, f.key...)
			f.write(e, f.of(v))
		}
	}
}

func writeSlice(e *encoder, v reflect.Value, element *typeEncoder) {
	e.length(v.Len(), 0x90, 0xdc)
	for i := range v.Len() {
		element.write(e, v.Index(i))
	}
}

func writeMap(e *encoder, v reflect.Value, element *typeEncoder) {
	e.length(v.Len(), 0x80, 0xde)
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		e.text(key.String())
		element.write(e, v.MapIndex(key))
	}
}

// length writes the length of a map or of an array: fixed is the code of the shortest form, long
// that of two bytes.
func (e *encoder) length(n int, fixed, long byte) {
	switch {
	case n < 16:
		e.b = append(e.b, fixed|byte(n))
	case n <= math.MaxUint16:
		e.b = binary.BigEndian.AppendUint16(append(e.b, long), uint16(n))
	default:
		e.b = binary.BigEndian.AppendUint32(append(e.b, long+1), uint32(n))
	}
}

// size writes the length of a text or of bytes; code is that of one byte.
func (e *encoder) size(n int, code byte) {
	switch {
	case n <= math.MaxUint8:
		e.b = append(e.b, code, byte(n))
	case n <= math.MaxUint16:
		e.b = binary.BigEndian.AppendUint16(append(e.b, code+1), uint16(n))
	default:
		e.b = binary.BigEndian.AppendUint32(append(e.b, code+2), uint32(n))
	}
}

func (e *encoder) text(s string) {
	if len(s) < 32 {
		e.b = append(e.b, 0xa0|byte(len(s)))
	} else {
		e.size(len(s), 0xd9)
	}
	e.b = append(e.b, s...)
}

func writeBytes(e *encoder, v reflect.Value) {
	e.size(v.Len(), 0xc4)
	e.b = append(e.b, v.Bytes()...)
}

func writeBool(e *encoder, v reflect.Value) {
	if v.Bool() {
		e.b = append(e.b, 0xc3)
	} else {
		e.b = append(e.b, 0xc2)
	}
}

func (e *encoder) uint(n uint64) {
	switch {
	case n <= math.MaxInt8:
		e.b = append(e.b, byte(n))
	case n <= math.MaxUint8:
		e.b = append(e.b, 0xcc, byte(n))
	case n <= math.MaxUint16:
		e.b = binary.BigEndian.AppendUint16(append(e.b, 0xcd), uint16(n))
	case n <= math.MaxUint32:
		e.b = binary.BigEndian.AppendUint32(append(e.b, 0xce), uint32(n))
	default:
		e.b = binary.BigEndian.AppendUint64(append(e.b, 0xcf), n)
	}
}

func writeInt(e *encoder, v reflect.Value) {
	switch n := v.Int(); {
	case n >= 0:
		e.uint(uint64(n))
	case n >= -32:
		e.b = append(e.b, byte(n))
	case n >= math.MinInt8:
		e.b = append(e.b, 0xd0, byte(n))
	case n >= math.MinInt16:
		e.b = binary.BigEndian.AppendUint16(append(e.b, 0xd1), uint16(n))
	case n >= math.MinInt32:
		e.b = binary.BigEndian.AppendUint32(append(e.b, 0xd2), uint32(n))
	default:
		e.b = binary.BigEndian.AppendUint64(append(e.b, 0xd3), uint64(n))
	}
}

// writeTime writes one of the three forms of msgpack's timestamp, the shortest that fits.
func writeTime(e *encoder, v reflect.Value) {
	at, _ := reflect.TypeAssert[time.Time](v)
	seconds, nanos := uint64(at.Unix()), uint64(at.Nanosecond())
	const extension = byte(256 + timestampExt)
	switch {
	case seconds>>34 != 0:
		e.b = binary.BigEndian.AppendUint32(append(e.b, 0xc7, 12, extension), uint32(nanos))
		e.b = binary.BigEndian.AppendUint64(e.b, seconds)
	case seconds>>32 != 0 || nanos != 0:
		e.b = binary.BigEndian.AppendUint64(append(e.b, 0xd7, extension), nanos<<34|seconds)
	default:
		e.b = binary.BigEndian.AppendUint32(append(e.b, 0xd6, extension), uint32(seconds))
	}
}
