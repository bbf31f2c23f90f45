package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"payledger/domain"
	"payledger/httpapi/intake"
)

// maxBody is the size of the largest body, and maxNotification that of the largest body of a processor's notification, which is
// read before it is known who sends it; in bytes (D1, D14).
const (
	maxBody         = 1 << 20
	maxNotification = 64 << 10
)

// readBody reads and parses the body of a call that has one: the guard JSON (D1, D3).
func (c *call) readBody() error {
	if !c.operation.hasBody() {
		return nil
	}
	body, err := c.bodyBytes(maxBody)
	if err != nil {
		return err
	}
	if c.operation.optional && isNothing(body) {
		body = []byte("{}")
	}
	if c.body, err = parseObject(body); err != nil {
		return malformed(err)
	}
	if strings.HasPrefix(c.route.path, "/management/") {
		return nil // null has no meaning there (D20)
	}
	return c.body.dropNulls(c.route.method == http.MethodPatch)
}

// dropNulls takes the fields away that are null: they mean absent (D21). In a change they clear (D4), and mean absent only
// in the elements of arrays, which are new.
func (d *document) dropNulls(change bool) error {
	if !withoutNulls(d.tree, change) {
		return nil
	}
	exact, err := exactTree(d.text)
	if err != nil {
		return err
	}
	withoutNulls(exact, change)
	d.text, err = exactText(exact)
	return err
}

// withoutNulls takes the null fields out of a tree, but for those that clear; it reports whether there were any.
func withoutNulls(tree any, clears bool) (some bool) {
	switch tree := tree.(type) {
	case map[string]any:
		for name, value := range tree {
			if value == nil && !clears {
				delete(tree, name)
				some = true
			}
			some = withoutNulls(value, clears) || some
		}
	case []any:
		for _, element := range tree {
			some = withoutNulls(element, false) || some
		}
	}
	return some
}

// isNothing tells a body that means {} where a body may be left out: none at all, or null (D1).
func isNothing(body []byte) bool {
	text := string(bytes.Trim(body, " \t\r\n"))
	return text == "" || text == "null"
}

// bodyBytes reads the body: within its limit, and JSON by its type.
func (c *call) bodyBytes(limit int64) ([]byte, error) {
	body, err := c.readWithin(http.MaxBytesReader(c.w, c.r.Body, limit), limit)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		c.api.Intake.Tally.Add(intake.Body)
		return nil, domain.Refuse(domain.KindInvalid, domain.ReasonRequestTooLarge, "The body is larger than %d bytes.", limit)
	case errors.Is(err, errOverloaded):
		return nil, err
	case err != nil:
		return nil, malformed(errors.New("it could not be read whole"))
	case len(body) > 0 && !isJSON(c.r.Header.Get("Content-Type")):
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

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "application/json"
}

func malformed(cause error) error {
	return domain.Refuse(domain.KindInvalid, domain.ReasonMalformedJSON, "The body must be one JSON object: %s.", cause)
}

// decode reads the validated body. The schema has seen to it that every value fits its field, so a failure
// is a fault of ours.
func decode[T any](c *call) (T, error) {
	var v T
	if err := json.Unmarshal(c.body.text, &v); err != nil {
		return v, fmt.Errorf("httpapi: a valid body does not decode: %w", err)
	}
	return v, nil
}
