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

// The greatest sizes of a body and of a processor's notification, read before its signature is checked; in bytes (D1, D14.4).
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
	if c.Body, err = validation.Parse(body); err != nil {
		return malformed(err)
	}
	if strings.HasPrefix(c.route.path, managementPath) && !strings.HasPrefix(c.route.path, managedPayments) {
		return nil // null has no meaning there (D20)
	}
	return c.Body.DropNulls(c.route.method == http.MethodPatch)
}

// isNothing reports whether a body means {} where a body may be left out: it is empty, or null (D1).
func isNothing(body []byte) bool {
	text := string(bytes.Trim(body, " \t\r\n"))
	return text == "" || text == "null"
}

func (c *call) bodyBytes(limit int64) ([]byte, error) {
	body, err := c.readWithin(http.MaxBytesReader(c.w, c.r.Body, limit), limit)
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	kind, _, badKind := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
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

// readWithin reads a body. The memory of a large one is reserved before it is read.
func (c *call) readWithin(body io.Reader, limit int64) ([]byte, error) {
	if c.r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	read, err := io.ReadAll(io.LimitReader(body, unbudgeted))
	if err != nil || len(read) < unbudgeted {
		return read, err
	}
	size := c.r.ContentLength
	if size < 0 {
		size = limit
	}
	if err := c.reserve(c.api.Intake.Bodies, size); err != nil {
		return nil, err
	}
	rest, err := io.ReadAll(body)
	return append(read, rest...), err
}

func malformed(cause error) error {
	return domain.Refuse(domain.KindInvalid, domain.ReasonMalformedJSON, "The body must be one JSON object: %s.", cause)
}

func (c *call) validate() error {
	c.Query, c.Model = c.r.URL.Query(), c.operation.Model
	if c.route.access == byPage || strings.HasPrefix(c.route.path+"/", docs.Path+"/") { // a page ignores unknown parameters: links gather some on their way
		return nil
	}
	check := validation.Request{Query: c.r.URL.RawQuery, Body: c.Body}
	if rule := c.api.rules[c.route.operation]; rule != nil {
		check.Rule = func(v *validation.Violations) { rule(v, &c.Call) }
	}
	return c.operation.Check(check)
}
