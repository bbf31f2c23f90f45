package engine_test

import (
	"bytes"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/eventstore/eventstoretest"
)

// byLibrary encodes as the msgpack library does.
func byLibrary(t interface{ Fatal(...any) }, v any) []byte {
	var b bytes.Buffer
	enc := msgpack.NewEncoder(&b)
	enc.SetCustomStructTag("json")
	enc.SetSortMapKeys(true)
	enc.UseCompactInts(true)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestEncodesAsTheLibrary checks that random events and states of every aggregate have the bytes of
// the msgpack library.
func TestEncodesAsTheLibrary(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	values := []any{payment.Finished{}, domain.Sealed{}, map[string]any(nil)}
	for _, c := range codecs() {
		for _, name := range c.types {
			event, state := c.full(name)
			values = append(values, event, state)
		}
	}
	seen := map[reflect.Type]bool{}
	for _, value := range values {
		of := reflect.TypeOf(value)
		if seen[of] {
			continue
		}
		seen[of] = true
		t.Run(of.String(), rapid.MakeCheck(func(t *rapid.T) {
			v := reflect.New(of).Elem()
			randomValue(t, v, 0)
			got, err := codec.Marshal(v.Interface())
			want := byLibrary(t, v.Interface())
			if err != nil || !bytes.Equal(got, want) {
				at := 0
				for at < min(len(got), len(want)) && got[at] == want[at] {
					at++
				}
				from := max(0, at-40)
				t.Fatalf("%v; from byte %d on %q, want %q", err, at, got[from:min(at+20, len(got))], want[from:min(at+20, len(want))])
			}
		}))
	}
}

// randomValue fills v with values at the edges of msgpack's forms.
func randomValue(t *rapid.T, v reflect.Value, depth int) {
	if depth > 6 || rapid.IntRange(0, 3).Draw(t, "zero") == 0 {
		return
	}
	whole := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{
		31, 32, 127, 128, 255, 256, 1<<16 - 1, 1 << 16, 1<<32 - 1, 1 << 32, 1 << 34, -32, -33, -128, -129, -1 << 15, -1<<15 - 1, -1 << 31, -1<<31 - 1,
		math.MinInt64, math.MaxInt64,
	}))
	text := rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string {
		return string(make([]byte, rapid.SampledFrom([]int{31, 32, 255, 256, 1 << 16}).Draw(t, "length")))
	}))
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			seconds := rapid.SampledFrom([]int64{0, 1, 1<<32 - 1, 1 << 32, 1<<34 - 1, 1 << 34, -1}).Draw(t, "seconds")
			v.Set(reflect.ValueOf(time.Unix(seconds, rapid.SampledFrom([]int64{0, 1, 999_999_999}).Draw(t, "nanos"))))
			return
		}
		for i := range v.NumField() {
			randomValue(t, v.Field(i), depth+1)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		randomValue(t, v.Elem(), depth+1)
	case reflect.Slice:
		most := 3
		if v.Type().Elem().Kind() == reflect.Uint8 {
			most = 300
		} else if v.Type().Elem().Kind() == reflect.String {
			most = 20
		}
		n := rapid.IntRange(0, most).Draw(t, "elements")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			randomValue(t, v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(0, 18).Draw(t, "entries") {
			element := reflect.New(v.Type().Elem()).Elem()
			randomValue(t, element, depth+1)
			v.SetMapIndex(reflect.ValueOf(rapid.String().Draw(t, "key")).Convert(v.Type().Key()), element)
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf(rapid.OneOf(whole.AsAny(), text.AsAny(), rapid.Bool().AsAny(), rapid.Float64().AsAny(), rapid.Uint64().AsAny(),
			rapid.SliceOfN(text.AsAny(), 0, 3).AsAny(), rapid.Just[any](map[string]any{"b": int64(1), "a": nil})).Draw(t, "any")))
	case reflect.String:
		v.SetString(text.Draw(t, "text"))
	case reflect.Int, reflect.Int64:
		v.SetInt(whole.Draw(t, "whole"))
	case reflect.Uint64, reflect.Uint8:
		v.SetUint(uint64(whole.Draw(t, "whole")))
	case reflect.Float64:
		v.SetFloat(rapid.Float64().Draw(t, "number"))
	case reflect.Bool:
		v.SetBool(true)
	default:
		t.Fatalf("no random value for a field of type %s", v.Type())
	}
}

// TestNotStored: a value of a type that has no form in the log is refused.
func TestNotStored(t *testing.T) {
	t.Parallel()
	for _, v := range []any{make(chan int), struct{ A []any }{[]any{func() {}}}, map[string]any{"a": complex(1, 1)}} {
		if _, err := codec.Marshal(v); err == nil {
			t.Errorf("%T was encoded", v)
		}
	}
}

// BenchmarkMarshal encodes the state of a payment, here and by the msgpack library.
func BenchmarkMarshal(b *testing.B) {
	var state any
	for _, c := range codecs() {
		if c.name == eventstore.Payments.Name {
			_, state = c.full("payment.captured")
		}
	}
	b.Run("here", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := codec.Marshal(state); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			byLibrary(b, state)
		}
	})
}
