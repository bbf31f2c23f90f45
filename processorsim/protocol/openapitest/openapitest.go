// Package openapitest checks messages of the processor protocol against openapi.yaml. Tests of
// servers and clients of the protocol use its transport.
//
// It must not know: the servers and clients.
package openapitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/processorsim/protocol"
)

var load = sync.OnceValues(func() (*openapi3.T, error) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(protocol.OpenAPI())
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(loader.Context)
})

// Document returns openapi.yaml.
func Document(t testing.TB) *openapi3.T {
	t.Helper()
	doc, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// Fits returns an error if a JSON text does not fit a schema of the document, without its rules
// with "if": with them a schema is compiled at each call.
func Fits(schema string, text []byte) error { return fits(schema, text) }

// FitsRules is Fits with all rules.
func FitsRules(schema string, text []byte) error {
	return fits(schema, text, openapi3.EnableJSONSchema2020())
}

func fits(schema string, text []byte, more ...openapi3.SchemaValidationOption) error {
	doc, err := load()
	if err != nil {
		return err
	}
	found, has := doc.Components.Schemas[schema]
	if !has {
		return fmt.Errorf("openapi.yaml has no schema %s", schema)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return fmt.Errorf("%s: %w", schema, err)
	}
	more = append(more, openapi3.MultiErrors(), openapi3.EnableFormatValidation())
	if err := found.Value.VisitJSON(value, more...); err != nil {
		return fmt.Errorf("%s: %w\n%s", schema, err, text)
	}
	return nil
}

// Client returns a client over base (nil: a new transport) that fails the test at an answer of the
// protocol unlike openapi.yaml, and at a request unlike it that is answered with 200.
func Client(t testing.TB, base *http.Transport) *http.Client {
	if base == nil {
		base = &http.Transport{}
	}
	return &http.Client{
		Transport:     transport{t, base},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type transport struct {
	t    testing.TB
	base *http.Transport
}

// CloseIdleConnections closes the connections of the transport below.
func (c transport) CloseIdleConnections() { c.base.CloseIdleConnections() }

func (c transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	answer, err := c.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	answer.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
	if err == nil {
		if err := Check(r.Method, r.URL.EscapedPath(), r.URL.Query().Has("reference"), sent, answer.StatusCode, body); err != nil {
			c.t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
	}
	return answer, nil
}

// failing ends a body as the connection did.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

// Check checks a request, if it was answered with 200, and the answer. Paths of other interfaces
// are left out.
func Check(method, path string, ofPayment bool, sent []byte, status int, body []byte) error {
	if !strings.HasPrefix(path, "/v1/processors/") {
		return nil
	}
	if status != http.StatusOK {
		return Fits("ErrorBody", body)
	}
	parts := strings.Split(strings.TrimPrefix(path, "/v1/processors/"), "/")
	switch call := method + " " + strings.Join(parts[1:], "/"); {
	case call == "GET ":
		return Fits("Declaration", body)
	case call == "POST operations":
		return errors.Join(Fits("Operation", sent), Fits("Answer", body))
	case call == "GET operations" && ofPayment:
		return Fits("Entries", body)
	case call == "GET operations":
		return eachLine(body)
	case call == "GET disputes":
		return Fits("DisputeList", body)
	case len(parts) == 3 && method == http.MethodGet, len(parts) == 4 && parts[3] == "fence" && method == http.MethodPost:
		return Fits("Lookup", body)
	}
	return errors.New("openapi.yaml does not have this call, and it is answered with 200")
}

func eachLine(body []byte) error {
	for line := range bytes.Lines(body) {
		if err := Fits("Entry", line); err != nil {
			return err
		}
	}
	return nil
}
