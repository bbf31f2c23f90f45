package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"payledger/domain"
	"payledger/httpapi/docs"
	"payledger/httpapi/intake"
	"payledger/httpapi/validation"
)

// The greatest sizes of a body and of a processor's notification, read before its signature is
// checked; in bytes (D1, D14.4).
const (
	maxBody         = 1 << 20
	maxNotification = 64 << 10
)

func (c *call) readBody() error {
	if c.operation.Body == nil {
		return nil
	}
	body, err := c.bodyBytes(maxBody)
	if err != nil {
		return err
	}
	if c.operation.Optional && isNothing(body) {
		body = []byte("{}")
	}
	if err := c.reserveParsed(len(body)); err != nil {
		return err
	}
	if c.Body, err = c.operation.Read(body); err != nil {
		return malformed(err)
	}
	return nil
}

// isNothing reports whether a body means {} where a body may be left out: it is empty, or null
// (D1).
func isNothing(body []byte) bool {
	text := string(bytes.Trim(body, " \t\r\n"))
	return text == "" || text == "null"
}

func (c *call) bodyBytes(limit int64) ([]byte, error) {
	if encoded(c.r.Header) {
		refused := domain.Refuse(domain.KindInvalid, domain.ReasonUnsupportedMediaType, "The body must not be compressed: no Content-Encoding is read.")
		refused.Recovery = "Send the body as it is, without the header Content-Encoding."
		return nil, refused
	}
	body, err := c.readWithin(http.MaxBytesReader(c.w, c.r.Body, limit), limit)
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	kind, badKind := mediaType(c.r.Header.Get("Content-Type"))
	switch {
	case tooLarge:
		c.api.Intake.Tally.Add(intake.Body)
		return nil, domain.Refuse(domain.KindInvalid, domain.ReasonRequestTooLarge, "The body is larger than %d bytes.", limit)
	case errors.Is(err, errOverloaded):
		return nil, err
	case err != nil:
		return nil, malformed(errors.New("it could not be read whole"))
	case len(body) > 0 && (badKind != nil || kind != "application/json"):
		return nil, domain.Refuse(domain.KindInvalid, domain.ReasonUnsupportedMediaType, "The body must be application/json.")
	}
	return body, nil
}

// encoded reports whether a body has an encoding other than identity (D22.7).
func encoded(h http.Header) bool {
	for _, coding := range h.Values("Content-Encoding") {
		if coding != "" && !strings.EqualFold(coding, "identity") {
			return true
		}
	}
	return false
}

// maxMediaType bounds a Content-Type before its parameters are parsed, in bytes.
const maxMediaType = 256

func mediaType(header string) (kind string, err error) {
	if len(header) > maxMediaType {
		return "", errors.New("too long")
	}
	kind, _, err = mime.ParseMediaType(header)
	return kind, err
}

// firstRead is the size of the first piece that is read of a body without a declared length, in
// bytes.
const firstRead = 4 << 10

// readWithin reads a body. The memory of a large one is reserved before it is read, and no other
// memory is used.
func (c *call) readWithin(body io.Reader, limit int64) ([]byte, error) {
	length := c.r.ContentLength
	if length > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	first := int64(firstRead)
	if length >= 0 {
		first = min(length+1, unbudgeted) // one more: the end is read without another piece
	}
	read := make([]byte, 0, first)
	for {
		n, err := body.Read(read[len(read):cap(read)])
		read = read[:len(read)+n]
		switch {
		case errors.Is(err, io.EOF):
			return read, nil
		case err != nil:
			return read, err
		case len(read) < cap(read):
			continue
		}
		next := length + 1
		if length < 0 {
			next = min(2*int64(cap(read)), limit+1)
		}
		if next > unbudgeted {
			if err := c.reserve(c.api.Intake.Bodies, next-int64(cap(read))); err != nil {
				return nil, err
			}
		}
		read = append(make([]byte, 0, next), read...)
	}
}

// parsed is the memory of a parsed and decoded body, with its errors, in multiples of its size,
// about.
const parsed = 3

// reserveParsed reserves the memory of parsing a large body (D22.14).
func (c *call) reserveParsed(size int) error {
	if size <= unbudgeted {
		return nil
	}
	return c.reserve(c.api.Intake.Bodies, parsed*int64(size))
}

func malformed(cause error) error {
	return domain.Refuse(domain.KindInvalid, domain.ReasonMalformedJSON, "The body must be one JSON object: %s.", cause)
}

func (c *call) validate() error {
	page := c.route.access == byPage || strings.HasPrefix(c.route.path+"/", docs.Path+"/")
	if strings.Count(c.r.URL.RawQuery, "&") < validation.MaxParameters {
		c.Query = c.r.URL.Query()
	}
	c.Model = c.operation.Model
	if page || c.route.access == byNothing { // pages and probes ignore unknown parameters: links gather some, load balancers add some
		return nil
	}
	check := validation.Request{Query: c.r.URL.RawQuery, Vars: c.Vars, Body: c.Body}
	if c.route.operation == "eraseCustomer" || c.route.operation == "getCustomer" { // ledgers of earlier versions have ids with control characters, which must be erased, too
		check.Vars = nil
	}
	if rule := c.api.rules[c.route.operation]; rule != nil {
		check.Rule = func(v *validation.Violations) { rule(v, &c.Call) }
	}
	err := c.operation.Check(check)
	for name, value := range c.Body.Tree { // handlers decode the text; the tree shows them which fields were sent
		switch value.(type) {
		case map[string]any, []any:
			c.Body.Tree[name] = struct{}{}
		}
	}
	return err
}
