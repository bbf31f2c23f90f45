package validation

import (
	"strconv"
	"strings"
)

// nulls is the meaning of null fields in a body.
type nulls int

const (
	nullsStay  nulls = iota // they are values (D20)
	nullsDrop               // they are absent, at every depth (D21)
	nullsClear              // they clear fields of a change (D4); those of array elements, which are replaced as a whole, are absent
)

// reader parses a body and validates it at the same time, so that a refusal costs about as much as
// reading its bytes (D22.14): it keeps known fields only, drops an array at the first element above
// its limit, and skips the rest after enough violations.
type reader struct {
	parser
	nulls   nulls
	arrays  int // around the current place
	path    []step
	found   Violations
	options string // the JSON of the payment method's options (D21)
	noted   int    // names of fields, to find repeated ones
}

// step is a part of the path of the current place.
type step struct {
	name  string
	index int // of an element; -1: a field
}

func (r *reader) pathOf() string {
	var b strings.Builder
	b.WriteByte('$')
	for _, s := range r.path {
		if s.index < 0 {
			b.WriteString(Member(s.name))
		} else {
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		}
	}
	return b.String()
}

// fault adds a violation of the current place, faultOf one of its field.
func (r *reader) fault(description string) { r.found.Add(r.pathOf(), description) }

func (r *reader) faultOf(field, description string) {
	r.path = append(r.path, step{field, -1})
	r.fault(description)
	r.path = r.path[:len(r.path)-1]
}

// valueAt reads the value of a field or an element.
func (r *reader) valueAt(s step, of *shape, depth int) (any, error) {
	r.path = append(r.path, s)
	v, err := r.value(of, depth)
	r.path = r.path[:len(r.path)-1]
	return v, err
}

func (r *reader) value(s *shape, depth int) (any, error) {
	c := r.next()
	if r.found.full() {
		return nil, r.skip(depth, false)
	}
	if s.any {
		return r.free(depth)
	}
	switch c {
	case '{':
		if s.kinds&isObject == 0 {
			return map[string]any{}, r.refuse(s, "{}", depth)
		}
		return r.object(s, depth)
	case '[':
		if s.kinds&isArray == 0 {
			return []any{}, r.refuse(s, "[]", depth)
		}
		return r.array(s, depth)
	case '"':
		text, err := r.string()
		if err == nil {
			r.checkText(s, text)
		}
		return text, err
	case 't':
		r.checkBool(s)
		return true, r.word("true")
	case 'f':
		r.checkBool(s)
		return false, r.word("false")
	case 'n':
		r.checkNull(s)
		return nil, r.word("null")
	}
	n, err := r.number()
	if err == nil {
		r.checkNumber(s, n)
	}
	return n, err
}

// refuse skips an object or array in the place of another type. The text has an empty one instead.
func (r *reader) refuse(s *shape, by string, depth int) error {
	r.wrong(s, "type", nil)
	from := r.at
	if err := r.skip(depth, false); err != nil {
		return err
	}
	r.replace(from, r.at, by)
	return nil
}

// free keeps the options: the text has them as they were sent, without the null fields that count
// as absent (D21).
func (r *reader) free(depth int) (any, error) {
	from := r.at
	begin := r.mark()
	if err := r.skip(depth, true); err != nil {
		return nil, err
	}
	r.options = r.since(begin, from, r.at)
	return r.options, nil
}

func (r *reader) array(s *shape, depth int) (any, error) {
	if depth == maxNesting {
		return nil, errDeep
	}
	from, begin, before, array := r.at, r.mark(), r.found, []any{}
	r.arrays++
	defer func() { r.arrays-- }()
	n := 0
	err := r.elements(func() error {
		if n++; s.most > 0 && n > s.most { // none of the elements counts
			r.found = before
			return r.skip(depth+1, false)
		}
		v, err := r.valueAt(step{"", n - 1}, s.item, depth+1)
		if !s.flat {
			array = append(array, v)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case s.most > 0 && n > s.most:
		r.wrong(s, "maxItems", nil)
		r.reset(begin)
		r.replace(from, r.at, "[]")
		return []any{}, nil
	case n < s.least:
		r.wrong(s, "minItems", nil)
	case s.schema.UniqueItems && repeats(array):
		r.wrong(s, "uniqueItems", nil)
	}
	return array, nil
}

// elements reads an array, and calls each at the begin of each element.
func (r *reader) elements(each func() error) error {
	r.at++ // the opening bracket
	if r.next() == ']' {
		r.at++
		return nil
	}
	for {
		r.next()
		if err := each(); err != nil {
			return err
		}
		if r.next() != ',' {
			return r.expect(']')
		}
		r.at++
	}
}

// repeats reports whether a scalar stands in an array twice. The array is short.
func repeats(array []any) bool {
	for i, v := range array {
		switch v.(type) {
		case map[string]any, []any:
			continue
		}
		for _, other := range array[:i] {
			switch other.(type) {
			case map[string]any, []any:
			default:
				if v == other {
					return true
				}
			}
		}
	}
	return false
}
