package validation

import (
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

const maxNesting = 32

// Document is a parsed body: the tree for rules, and the text for decoding. Unknown fields, arrays
// above their limit and values after enough violations are in neither.
type Document struct {
	Tree    map[string]any // of map[string]any, []any, string, float64, bool and nil
	Text    []byte         // the body; outside options (D21), 1.0 and 1e3 are rewritten as 1 and 1000
	options string         // of the payment method (D21), as they were sent
	found   Violations     // of the schema
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

// Parse parses exactly one JSON object (RFC 8259), without repeated keys, deep nesting, text that
// is not UTF-8, half surrogate pairs.
func Parse(body []byte) (Document, error) { return read(body, anything, nullsStay) }

// read parses a body and validates it with the shape.
func read(body []byte, s *shape, n nulls) (Document, error) {
	if !utf8.Valid(body) {
		return Document{}, errNotUTF8
	}
	r := reader{parser: parser{rewriting: rewriting{text: body}}, nulls: n}
	switch r.next() {
	case 0:
		return Document{}, errEmpty
	case '{':
	default:
		return Document{}, errNoObject
	}
	tree, err := r.object(s, 0)
	if err != nil {
		return Document{}, err
	}
	if r.next(); r.at < len(r.text) {
		return Document{}, errBehind
	}
	return Document{Tree: tree.(map[string]any), Text: r.rewritten(), options: r.options, found: r.found}, nil
}

type parser struct {
	rewriting
	at int
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

func (p *parser) wrongByte() error {
	if p.at >= len(p.text) {
		return errTooEarly
	}
	return fmt.Errorf("it is no JSON at byte %d", p.at)
}

func (p *parser) expect(c byte) error {
	if p.next() != c {
		return p.wrongByte()
	}
	p.at++
	return nil
}

func (p *parser) word(w string) error {
	for i := range len(w) {
		if p.at >= len(p.text) || p.text[p.at] != w[i] {
			return p.wrongByte()
		}
		p.at++
	}
	return nil
}

// name reads the name of a field, without a copy unless it has escapes.
func (p *parser) name() ([]byte, error) {
	from := p.at + 1
	for at := from; at < len(p.text); at++ {
		switch c := p.text[at]; {
		case c == '"':
			p.at = at + 1
			return p.text[from:at], nil
		case c == '\\' || c < ' ':
			text, err := p.string()
			return []byte(text), err
		}
	}
	p.at = len(p.text)
	return nil, p.wrongByte()
}

func (p *parser) skipString() error {
	p.at++ // the opening quote
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return nil
		case c == '\\':
			if _, ok := p.escape(); !ok {
				return p.wrongByte()
			}
		case c < ' ':
			return p.wrongByte()
		default:
			p.at++
		}
	}
	return p.wrongByte()
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
			return "", p.wrongByte()
		}
	}
	return "", p.wrongByte()
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
			return "", p.wrongByte()
		case c != '\\':
			s = append(s, c)
			p.at++
			continue
		}
		r, ok := p.escape()
		if !ok {
			return "", p.wrongByte()
		}
		s = utf8.AppendRune(s, r)
	}
	return "", p.wrongByte()
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
