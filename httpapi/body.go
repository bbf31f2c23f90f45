package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"unicode/utf8"

	"payledger/domain"
)

const (
	maxBody    = 1 << 20 // D1
	maxNesting = 32      // D1
)

// readBody reads, parses and validates the body of a call that has one (D1, D3).
func (c *call) readBody() error {
	if !c.api.schemas.hasBody(c.route.operation) {
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return domain.Refuse(domain.KindInvalid, domain.ReasonRequestTooLarge, "The body is larger than %d bytes.", maxBody)
	}
	if err != nil {
		return malformed(errors.New("it could not be read whole"))
	}
	if err := c.checkContentType(len(body)); err != nil {
		return err
	}
	tree, err := parseObject(body)
	if err != nil {
		return malformed(err)
	}
	c.body = body
	return c.validate(tree)
}

func (c *call) checkContentType(length int) error {
	if length == 0 {
		return nil
	}
	kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return domain.Refuse(domain.KindInvalid, domain.ReasonUnsupportedMediaType, "The body must be application/json.")
	}
	return nil
}

// parseObject parses exactly one JSON object. What encoding/json lets through is refused: a key that
// stands twice, deep nesting, anything behind the object, text that is not UTF-8.
func parseObject(body []byte) (map[string]any, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("it is not UTF-8")
	}
	p := parser{json.NewDecoder(bytes.NewReader(body))}
	p.UseNumber()
	value, err := p.value(0)
	if err != nil {
		return nil, explain(err)
	}
	if _, err := p.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something behind it")
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("it is another JSON value")
	}
	return object, nil
}

func explain(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends too early")
	case errors.As(err, &syntax):
		return fmt.Errorf("it is no JSON at byte %d", syntax.Offset)
	default:
		return err
	}
}

type parser struct{ *json.Decoder }

func (p parser) value(depth int) (any, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("it is nested deeper than %d", maxNesting)
	}
	token, err := p.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return p.object(depth)
		}
		return p.array(depth)
	case json.Number:
		return number(t)
	default:
		return t, nil
	}
}

// number keeps integers exact for the schema's limits, which stay below 2^53.
func number(n json.Number) (any, error) {
	f, err := n.Float64()
	if err != nil {
		return nil, errors.New("it holds a number that is out of all range")
	}
	return f, nil
}

func (p parser) object(depth int) (any, error) {
	object := map[string]any{}
	for p.More() {
		token, err := p.Token()
		if err != nil {
			return nil, err
		}
		key := token.(string) // the decoder gives nothing else here
		if _, twice := object[key]; twice {
			return nil, errors.New("a key stands in it twice")
		}
		if object[key], err = p.value(depth + 1); err != nil {
			return nil, err
		}
	}
	_, err := p.Token() // the closing brace
	return object, err
}

func (p parser) array(depth int) (any, error) {
	array := []any{}
	for p.More() {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		array = append(array, v)
	}
	_, err := p.Token()
	return array, err
}
