package plainjson

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// reader reads the fields of plain objects in a fixed order. After a text that is not plain, failed
// is true and it stands still.
type reader struct {
	rest   []byte
	allow  func(text string) bool // nil: every text is allowed
	failed bool
	inside bool // the object has a field already, so a comma precedes the next one
}

func newReader(text []byte, allow func(string) bool) *reader {
	r := &reader{rest: text, allow: allow, failed: !utf8.Valid(text)}
	r.begin()
	return r
}

func (r *reader) done() bool {
	r.end()
	return !r.failed && len(r.rest) == 0
}

func (r *reader) begin() {
	r.take('{')
	r.inside = false
}

func (r *reader) end() {
	r.take('}')
	r.inside = true
}

func (r *reader) take(c byte) {
	if r.failed || len(r.rest) == 0 || r.rest[0] != c {
		r.failed = true
		return
	}
	r.rest = r.rest[1:]
}

// named reports whether the next field has a name, and moves to its value.
func (r *reader) named(name string) bool {
	at := r.rest
	if r.inside {
		if len(at) == 0 || at[0] != ',' {
			return false
		}
		at = at[1:]
	}
	if r.failed || len(at) < len(name)+3 || at[0] != '"' || string(at[1:1+len(name)]) != name || at[1+len(name)] != '"' || at[2+len(name)] != ':' {
		return false
	}
	r.rest, r.inside = at[len(name)+3:], true
	return true
}

// object reports whether the next field has a name and is an object. end must follow its fields.
func (r *reader) object(name string) bool {
	if !r.named(name) {
		return false
	}
	r.begin()
	return !r.failed
}

func text[T ~string](r *reader, name string, into *T) {
	if r.named(name) {
		*into = T(r.value())
	}
}

// value reads a text without escaped characters.
func (r *reader) value() string {
	if r.take('"'); r.failed {
		return ""
	}
	length := bytes.IndexByte(r.rest, '"')
	if length < 0 {
		r.failed = true
		return ""
	}
	for _, c := range r.rest[:length] {
		if c < ' ' || c == '\\' {
			r.failed = true
			return ""
		}
	}
	value := string(r.rest[:length])
	r.rest = r.rest[length+1:]
	if r.allow != nil && !r.allow(value) {
		r.failed = true
	}
	return value
}

func number[T ~int64](r *reader, name string, into *T) {
	if r.named(name) {
		*into = T(r.integer())
	}
}

// stated is number for a field that tells 0 from nothing.
func stated[T ~int64](r *reader, name string, into **T) {
	if r.named(name) {
		*into = new(T(r.integer()))
	}
}

func (r *reader) integer() int64 {
	length := bytes.IndexAny(r.rest, ",}")
	if length <= 0 {
		r.failed = true
		return 0
	}
	digits := string(r.rest[:length])
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != digits {
		r.failed = true
		return 0
	}
	r.rest = r.rest[length:]
	return n
}

func (r *reader) truth(name string, into *bool) {
	if !r.named(name) {
		return
	}
	for _, value := range []bool{true, false} {
		if after, is := bytes.CutPrefix(r.rest, strconv.AppendBool(nil, value)); is {
			*into, r.rest = value, after
			return
		}
	}
	r.failed = true
}
