package eventjson

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"payledger/eventstore/codec"
	"payledger/projections/jsontext"
	"payledger/projections/paymentjson"
)

// writer writes stored values as JSON, without the hidden fields, as encoding/json writes the
// decoded values.
type writer struct {
	b      []byte
	html   bool    // <, > and & are escaped, as json.Marshal does
	fields []field // of the maps around the place of writing
}

// field is a field of a map, both parts as stored. value is the whole value with its elements.
type field struct{ name, value []byte }

var writers = sync.Pool{New: func() any { return new(writer) }}

// write calls use with a writer behind b, and returns b with the written text.
func write(b []byte, html bool, use func(*writer) error) ([]byte, error) {
	w := writers.Get().(*writer)
	defer writers.Put(w)
	w.b, w.html, w.fields = b, html, w.fields[:0]
	err := use(w)
	b, w.b = w.b, nil
	clear(w.fields[:cap(w.fields)]) // the log's bytes are not kept
	return b, err
}

// body writes an event or a state, and reports whether it has a field. id replaces its own field
// "id" if that is a credential, else "".
func (w *writer) body(stored []byte, id string) (some bool, err error) {
	t, rest, err := codec.Next(stored)
	switch {
	case err != nil:
		return false, err
	case t.Kind == codec.Nil:
		w.b = append(w.b, "null"...)
		return false, nil
	case t.Kind != codec.Map:
		return false, codec.ErrMalformed
	}
	begin := len(w.b)
	_, err = w.object(t, rest, id)
	return len(w.b) > begin+len("{}"), err
}

// value writes the value at the start of data, with the hidden fields of its maps left out, and
// returns the bytes behind it.
func (w *writer) value(data []byte) (rest []byte, err error) {
	t, rest, err := codec.Next(data)
	if err != nil {
		return nil, err
	}
	switch t.Kind {
	case codec.Time:
		if t.At.IsZero() { // in a list; hides leaves out the field of a map
			w.b = append(w.b, "null"...)
			return rest, nil
		}
		w.b = append(w.b, '"')
		w.b = append(paymentjson.AppendTime(w.b, t.At), '"')
		return rest, nil
	case codec.List:
		return w.list(t, rest, w.value)
	case codec.Map:
		return w.object(t, rest, "")
	default:
		return rest, w.scalar(t)
	}
}

// raw is value for the merchant's own data: nothing is left out.
func (w *writer) raw(data []byte) (rest []byte, err error) {
	t, rest, err := codec.Next(data)
	if err != nil {
		return nil, err
	}
	switch t.Kind {
	case codec.Time:
		w.b = append(w.b, '"')
		w.b = append(t.At.AppendFormat(w.b, time.RFC3339Nano), '"')
		return rest, nil
	case codec.List:
		return w.list(t, rest, w.raw)
	case codec.Map:
		return w.mapOf(t, rest, func(name, value []byte) error {
			w.name(name)
			_, err := w.raw(value)
			return err
		})
	default:
		return rest, w.scalar(t)
	}
}

func (w *writer) list(t codec.Token, data []byte, element func([]byte) ([]byte, error)) (rest []byte, err error) {
	w.b = append(w.b, '[')
	for i := range t.N {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		if data, err = element(data); err != nil {
			return nil, err
		}
	}
	w.b = append(w.b, ']')
	return data, nil
}

// object writes a map of the log. id is that of body.
func (w *writer) object(t codec.Token, data []byte, id string) (rest []byte, err error) {
	return w.mapOf(t, data, func(name, value []byte) error {
		v, _, err := codec.Next(value)
		if err != nil || hides(string(name), v, value) {
			return err
		}
		w.name(name)
		text := v.Kind == codec.Text
		switch {
		case text && credentials[string(name)]:
			w.b = jsontext.Append(w.b, Fingerprint(string(v.Data)), false)
		case text && string(name) == ownJSON && json.Valid(v.Data):
			w.own(v.Data)
		case text && id != "" && string(name) == "id":
			w.b = jsontext.Append(w.b, id, w.html)
		case string(name) == untouched:
			_, err = w.raw(value)
		default:
			_, err = w.value(value)
		}
		return err
	})
}

// mapOf calls one with each field of a map, in the order of names. Of fields with the same name the
// last one counts.
func (w *writer) mapOf(t codec.Token, data []byte, one func(name, value []byte) error) (rest []byte, err error) {
	begin := len(w.fields)
	for range t.N {
		name, behind, err := codec.Next(data)
		if err != nil || name.Kind != codec.Text {
			return nil, cmp.Or(err, codec.ErrMalformed)
		}
		n, err := codec.Length(behind)
		if err != nil {
			return nil, err
		}
		w.fields, data = append(w.fields, field{name.Data, behind[:n]}), behind[n:]
	}
	end := len(w.fields)
	slices.SortStableFunc(w.fields[begin:end], func(a, b field) int { return bytes.Compare(a.name, b.name) })
	w.b = append(w.b, '{')
	for i := begin; i < end; i++ {
		f := w.fields[i] // one may move the list
		if i+1 < end && bytes.Equal(f.name, w.fields[i+1].name) {
			continue
		}
		if err := one(f.name, f.value); err != nil {
			return nil, err
		}
	}
	w.b = append(w.b, '}')
	w.fields = w.fields[:begin]
	return data, nil
}

func (w *writer) name(name []byte) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(jsontext.Append(w.b, name, w.html), ':')
}

func (w *writer) scalar(t codec.Token) error {
	switch t.Kind {
	case codec.Nil:
		w.b = append(w.b, "null"...)
	case codec.Bool:
		w.b = strconv.AppendBool(w.b, t.N == 1)
	case codec.Int:
		w.b = strconv.AppendInt(w.b, t.Int(), 10)
	case codec.Uint:
		w.b = strconv.AppendUint(w.b, t.N, 10)
	case codec.Float:
		return w.float(t.Float())
	case codec.Bytes:
		w.b = append(w.b, '"')
		w.b = append(base64.StdEncoding.AppendEncode(w.b, t.Data), '"')
	default:
		w.b = jsontext.Append(w.b, t.Data, w.html)
	}
	return nil
}

// float writes a number as encoding/json does: as ECMAScript does.
func (w *writer) float(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("eventjson: JSON has no number %v", f)
	}
	text, err := json.Marshal(f)
	w.b = append(w.b, text...)
	return err
}

// own writes JSON of the merchant's own without spaces.
func (w *writer) own(text []byte) {
	var b bytes.Buffer
	if json.Compact(&b, text) == nil && w.html {
		compact := bytes.Clone(b.Bytes())
		b.Reset()
		json.HTMLEscape(&b, compact)
	}
	w.b = append(w.b, b.Bytes()...)
}
