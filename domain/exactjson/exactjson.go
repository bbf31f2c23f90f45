package exactjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// The faults that encoding/json accepts. No error repeats a text of the body.
var (
	ErrTwice   = errors.New("a name stands twice in an object")
	ErrUnknown = errors.New("an object has a name that is no field")
	errNotUTF8 = errors.New("it is not UTF-8")
)

// Unmarshal decodes a text into the value that into points to. Names that are no fields are left
// out.
func Unmarshal(text []byte, into any) error { return unmarshal(text, into, false) }

// UnmarshalStrict is Unmarshal, and refuses names that are no fields.
func UnmarshalStrict(text []byte, into any) error { return unmarshal(text, into, true) }

// Check returns an error if the text is not one JSON value, or has a name twice in an object.
func Check(text []byte) error {
	_, err := walk(text, nil, false)
	return err
}

func unmarshal(text []byte, into any, strict bool) error {
	exact, err := walk(text, reflect.TypeOf(into), strict)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(exact, into); err != nil {
		return silent{err}
	}
	return nil
}

// silent is an error of encoding/json, or of a type that decodes itself, without the value that it
// repeats.
type silent struct{ err error }

func (s silent) Error() string {
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](s.err); is && wrong.Field != "" {
		return fmt.Sprintf("the value of %q is of another type, or out of its range", wrong.Field)
	}
	return "a value cannot be read"
}

// Unwrap returns an error whose text must not be shown.
func (s silent) Unwrap() error { return s.err }

// walk checks a text, and returns it with other names in the place of those that only resemble
// fields of a type.
func walk(text []byte, of reflect.Type, strict bool) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, errNotUTF8
	}
	if !json.Valid(text) {
		var whole json.RawMessage
		return nil, json.Unmarshal(text, &whole) // its error has the place
	}
	w := &walker{text: text, out: text, strict: strict}
	err := w.value(of)
	return w.out, err
}

// walker goes through a valid text.
type walker struct {
	text, out []byte
	copied    bool // out is a copy
	at        int
	strict    bool
}

func (w *walker) next() byte {
	for {
		switch c := w.text[w.at]; c {
		case ' ', '\n', '\r', '\t', ',', ':':
			w.at++
		default:
			return c
		}
	}
}

// value passes a value of a type; nil: of any type.
func (w *walker) value(of reflect.Type) error {
	if of == raw {
		w.skip()
		return nil
	}
	switch w.next() {
	case '{':
		return w.object(plain(of))
	case '[':
		return w.array(plain(of))
	case '"':
		w.string()
	default:
		w.skip()
	}
	return nil
}

// skip passes a value without a look into it.
func (w *walker) skip() {
	w.next()
	for depth := 0; w.at < len(w.text); {
		switch w.text[w.at] {
		case '"':
			if w.string(); depth == 0 {
				return
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				w.at += depth + 1 // the end of an object around a number is not a part of it
				return
			}
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return
			}
		}
		w.at++
	}
}

// string passes a string, and returns it with its quotes.
func (w *walker) string() []byte {
	start := w.at
	for w.at++; w.text[w.at] != '"'; w.at++ {
		if w.text[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	return w.text[start:w.at]
}

func (w *walker) array(of reflect.Type) error {
	var element reflect.Type
	if of != nil && (of.Kind() == reflect.Slice || of.Kind() == reflect.Array) {
		element = of.Elem()
	}
	for w.at++; w.next() != ']'; {
		if err := w.value(element); err != nil {
			return err
		}
	}
	w.at++
	return nil
}

func (w *walker) object(of reflect.Type) error {
	seen := map[string]struct{}{}
	for w.at++; w.next() != '}'; {
		quoted := w.string()
		name := string(quoted[1 : len(quoted)-1])
		if strings.Contains(name, `\`) {
			if err := json.Unmarshal(quoted, &name); err != nil {
				return err
			}
		}
		m := memberOf(of, name)
		if _, twice := seen[name]; twice {
			if m.known && of != nil && of.Kind() == reflect.Struct {
				return fmt.Errorf("%w: %q", ErrTwice, name)
			}
			return ErrTwice
		}
		seen[name] = struct{}{}
		switch {
		case !m.known && w.strict:
			if m.resembles != "" {
				return fmt.Errorf("%w: the field is spelled %q", ErrUnknown, m.resembles)
			}
			return ErrUnknown
		case !m.known && m.resembles != "":
			w.replace(w.at-len(quoted)+1, w.at-1)
		}
		if err := w.value(m.of); err != nil {
			return err
		}
	}
	w.at++
	return nil
}

// replace overwrites a name. No field has such a name.
func (w *walker) replace(from, to int) {
	if !w.copied {
		w.out, w.copied = bytes.Clone(w.text), true
	}
	for i := from; i < to; i++ {
		w.out[i] = '#'
	}
}

// plain returns the type that a value is decoded into; nil if the type decodes itself or takes any
// value.
func plain(t reflect.Type) reflect.Type {
	for t != nil {
		if t.Kind() == reflect.Interface || reflect.PointerTo(t).Implements(decodesItself) {
			return nil
		}
		if t.Kind() != reflect.Pointer {
			return t
		}
		t = t.Elem()
	}
	return nil
}

var (
	decodesItself = reflect.TypeFor[json.Unmarshaler]()
	raw           = reflect.TypeFor[json.RawMessage]()
)

// member is a member of an object.
type member struct {
	of        reflect.Type // nil: any
	known     bool         // a type of objects has the member
	resembles string       // the field that encoding/json would take for it; "" for none
}

func memberOf(of reflect.Type, name string) member {
	switch {
	case of == nil:
		return member{known: true}
	case of.Kind() == reflect.Map:
		return member{of: of.Elem(), known: true}
	case of.Kind() != reflect.Struct:
		return member{known: true} // the decoder refuses the object
	}
	resembles := ""
	for i := range of.NumField() {
		f := of.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "-":
		case f.Anonymous && tag == "":
			inner := memberOf(plain(f.Type), name)
			if inner.known && plain(f.Type) != nil {
				return member{of: inner.of, known: true}
			}
			resembles += inner.resembles
		case !f.IsExported():
		case tag == name || tag == "" && f.Name == name:
			return member{of: f.Type, known: true}
		case strings.EqualFold(tag, name) || tag == "" && strings.EqualFold(f.Name, name):
			resembles = cmp.Or(tag, f.Name)
		}
	}
	return member{resembles: resembles}
}
