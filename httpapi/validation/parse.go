package validation

import (
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

const maxNesting = 32

// Document is a parsed body: the tree for schema and rules, and the text for decoding.
type Document struct {
	Tree map[string]any // of map[string]any, []any, string, float64, bool and nil
	Text []byte         // the body; outside options (D21), 1.0 and 1e3 are rewritten as 1 and 1000
}

// Reasons for MalformedJson; none repeats a part of the body.
var (
	errEmpty    = errors.New("it is empty")
	errNoObject = errors.New("it is another JSON value")
	errTooEarly = errors.New("it ends too early")
	errBehind   = errors.New("there is something behind it")
	errTwice    = errors.New("a key stands in it twice")
	errNotUTF8  = errors.New("it is not UTF-8")
	errDeep     = fmt.Errorf("it is nested deeper than %d", maxNesting)
)

// Parse parses exactly one JSON object (RFC 8259), without repeated keys, deep nesting, text that is not UTF-8, half surrogate pairs.
func Parse(body []byte) (Document, error) {
	if !utf8.Valid(body) {
		return Document{}, errNotUTF8
	}
	p := parser{text: body}
	switch p.next() {
	case 0:
		return Document{}, errEmpty
	case '{':
	default:
		return Document{}, errNoObject
	}
	tree, err := p.object(0)
	if err != nil {
		return Document{}, err
	}
	if p.next(); p.at < len(p.text) {
		return Document{}, errBehind
	}
	return Document{Tree: tree, Text: p.rewritten()}, nil
}

type parser struct {
	text     []byte
	at       int
	edits    []edit
	field    string // the current field of the body
	verbatim bool   // in the options of the payment method, whose numbers keep their text (D21)
}

type edit struct {
	from, to int
	by       string
}

func (p *parser) rewritten() []byte {
	if len(p.edits) == 0 {
		return p.text
	}
	out, done := make([]byte, 0, len(p.text)), 0
	for _, e := range p.edits {
		out, done = append(append(out, p.text[done:e.from]...), e.by...), e.to
	}
	return append(out, p.text[done:]...)
}

func (p *parser) next() byte {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; c {
		case ' ', '\n', '\r', '\t':
			p.at++
		default:
			return c
		}
	}
	return 0
}

func (p *parser) wrong() error {
	if p.at >= len(p.text) {
		return errTooEarly
	}
	return fmt.Errorf("it is no JSON at byte %d", p.at)
}

func (p *parser) expect(c byte) error {
	if p.next() != c {
		return p.wrong()
	}
	p.at++
	return nil
}

func (p *parser) value(depth int) (any, error) {
	switch p.next() {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		return p.string()
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	default:
		return p.number()
	}
}

func (p *parser) word(w string) error {
	for i := range len(w) {
		if p.at >= len(p.text) || p.text[p.at] != w[i] {
			return p.wrong()
		}
		p.at++
	}
	return nil
}

func (p *parser) object(depth int) (map[string]any, error) {
	if depth == maxNesting {
		return nil, errDeep
	}
	p.at++ // the opening brace
	object := map[string]any{}
	if p.next() == '}' {
		p.at++
		return object, nil
	}
	for {
		if p.next() != '"' {
			return nil, p.wrong()
		}
		key, err := p.string()
		if err != nil {
			return nil, err
		}
		if _, twice := object[key]; twice {
			return nil, errTwice
		}
		if err := p.expect(':'); err != nil {
			return nil, err
		}
		if object[key], err = p.Member(key, depth); err != nil {
			return nil, err
		}
		if p.next() != ',' {
			return object, p.expect('}')
		}
		p.at++
	}
}

// Member reads the value of a field of an object at depth. The body is at depth 0.
func (p *parser) Member(key string, depth int) (any, error) {
	switch {
	case depth == 0:
		p.field = key
	case depth == 1 && p.field == "paymentMethod" && key == "options":
		p.verbatim = true
		defer func() { p.verbatim = false }()
	}
	return p.value(depth + 1)
}

func (p *parser) array(depth int) ([]any, error) {
	if depth == maxNesting {
		return nil, errDeep
	}
	p.at++ // the opening bracket
	array := []any{}
	if p.next() == ']' {
		p.at++
		return array, nil
	}
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		array = append(array, v)
		if p.next() != ',' {
			return array, p.expect(']')
		}
		p.at++
	}
}

func (p *parser) string() (string, error) {
	p.at++ // the opening quote
	start := p.at
	for ; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return string(p.text[start : p.at-1]), nil
		case c == '\\':
			return p.escaped(append([]byte{}, p.text[start:p.at]...))
		case c < ' ':
			return "", p.wrong()
		}
	}
	return "", p.wrong()
}

// escaped reads the rest of a string from its first backslash on; s is the part before it.
func (p *parser) escaped(s []byte) (string, error) {
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case c == '"':
			p.at++
			return string(s), nil
		case c < ' ':
			return "", p.wrong()
		case c != '\\':
			s = append(s, c)
			p.at++
			continue
		}
		r, ok := p.escape()
		if !ok {
			return "", p.wrong()
		}
		s = utf8.AppendRune(s, r)
	}
	return "", p.wrong()
}

var escapes = [256]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads one escaped character, false for an invalid escape and half a surrogate pair.
func (p *parser) escape() (rune, bool) {
	p.at++ // the backslash
	if p.at >= len(p.text) {
		return 0, false
	}
	if c := p.text[p.at]; c != 'u' {
		p.at++
		return escapes[c], escapes[c] != 0
	}
	r, ok := p.unit()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	if p.at >= len(p.text) || p.text[p.at] != '\\' {
		return 0, false
	}
	p.at++
	low, ok := p.unit()
	r = utf16.DecodeRune(r, low)
	return r, ok && r != utf8.RuneError
}

func (p *parser) unit() (rune, bool) {
	if p.at+5 > len(p.text) || p.text[p.at] != 'u' {
		return 0, false
	}
	r := rune(0)
	for _, c := range p.text[p.at+1 : p.at+5] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	p.at += 5
	return r, true
}
