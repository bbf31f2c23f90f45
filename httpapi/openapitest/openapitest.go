package openapitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"payledger/domain/seedtest"
	"payledger/httpapi"
	"payledger/httpapi/docs"
)

// uuid validates `format: uuid`: any variant and version of RFC 9562.
var uuid = openapi3.WithStringFormatValidator("uuid", openapi3.NewRegexpFormatValidator(openapi3.FormatOfStringForUUIDOfRFC9562))

type document struct {
	doc      *openapi3.T
	router   routers.Router
	errorIDs map[string][]string // by operationId
}

var load = sync.OnceValues(func() (*document, error) {
	doc, err := httpapi.LoadOpenAPI()
	if err != nil {
		return nil, err
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, err
	}
	errorIDs, err := docs.ErrorIDs(httpapi.OpenAPI())
	return &document{doc, router, errorIDs}, err
})

// Client returns a client over base (nil: the default) that fails the test at an answer unlike
// openapi.yaml. It follows no redirect (D1).
func Client(t testing.TB, base http.RoundTripper) *http.Client {
	t.Helper()
	if base == nil {
		base = http.DefaultTransport
	}
	return &http.Client{
		Transport:     transport{t, base},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type transport struct {
	t    testing.TB
	base http.RoundTripper
}

func (c transport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if testing.Short() { // under the race detector a check takes long, and shows nothing
		return answer, nil
	}
	if err := Check(r, answer); err != nil {
		c.t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	return answer, nil
}

// IsStream reports whether an answer is a stream of server-sent events: its body has no end.
func IsStream(answer *http.Response) bool {
	return strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream")
}

// Check checks one answer. The answer's body can be read afterwards. Check does not read the body
// of a stream. Without the build tag system it holds a sample of the answers of an operation with
// the same names to their schemas.
func Check(r *http.Request, answer *http.Response) error {
	if IsStream(answer) {
		return checkError(answer, nil)
	}
	d, err := load()
	if err != nil {
		return err
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return errors.Join(d.checkOperation(r, answer, body), checkError(answer, body))
}

// Of the answers of an operation with the same names, a sample has the first ones of the test
// program, and then each sampleStep-th.
const sampleStart, sampleStep = 8, 16

var answers struct {
	sync.Mutex
	seen map[string]int // by operation, status and the names in the body
}

// inSample counts an answer, and reports whether a sample has it.
func inSample(operation string, status int, body []byte) bool {
	found := map[string]bool{}
	for rest := body; ; { // each text before a colon
		before, after, more := bytes.Cut(rest, []byte(`":`))
		if !more {
			break
		}
		found[string(before[bytes.LastIndexByte(before, '"')+1:])] = true
		rest = after
	}
	key := fmt.Sprint(operation, status, slices.Sorted(maps.Keys(found)))
	answers.Lock()
	defer answers.Unlock()
	if answers.seen == nil {
		answers.seen = map[string]int{}
	}
	answers.seen[key]++
	n := answers.seen[key]
	return n <= sampleStart || n%sampleStep == 0
}

// checkOperation checks an answer against its operation, or against the error schema for an unknown
// call.
func (d *document) checkOperation(r *http.Request, answer *http.Response, body []byte) error {
	plain := r.Clone(r.Context())
	if strings.HasSuffix(plain.URL.EscapedPath(), "/") && len(plain.URL.Path) > 1 { // an escaped one belongs to a parameter
		plain.URL.Path, plain.URL.RawPath = strings.TrimSuffix(plain.URL.Path, "/"), strings.TrimSuffix(plain.URL.RawPath, "/")
	}
	route, vars, err := d.router.FindRoute(plain)
	if errors.Is(err, routers.ErrPathNotFound) || errors.Is(err, routers.ErrMethodNotAllowed) {
		if r.Method == http.MethodOptions && answer.StatusCode == http.StatusOK {
			return checkOptions(answer, body)
		}
		return d.checkRefusal(answer, body)
	}
	if err != nil {
		return err
	}
	if seedtest.Sampled() && !inSample(route.Operation.OperationID, answer.StatusCode, body) {
		return d.checkErrorID(route.Operation.OperationID, answer, body)
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: plain, PathParams: vars, Route: route},
		Status:                 answer.StatusCode, Header: answer.Header,
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true, MultiError: true,
			SchemaValidationOptions: []openapi3.SchemaValidationOption{uuid},
		},
	}
	input.SetBodyBytes(body)
	if err := openapi3filter.ValidateResponse(r.Context(), input); err != nil {
		return fmt.Errorf("status %d: %w\n%s", answer.StatusCode, err, body)
	}
	return d.checkErrorID(route.Operation.OperationID, answer, body)
}

func (d *document) checkErrorID(operation string, answer *http.Response, body []byte) error {
	var e struct {
		Error struct{ ErrorID string }
	}
	if answer.StatusCode < http.StatusBadRequest || json.Unmarshal(body, &e) != nil || e.Error.ErrorID == "" || slices.Contains(d.errorIDs[operation], e.Error.ErrorID) {
		return nil
	}
	return fmt.Errorf("openapi.yaml does not name %s for %s: add it to x-errorIds", e.Error.ErrorID, operation)
}

func isPage(answer *http.Response) bool {
	return strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html")
}

// checkOptions checks the answer to OPTIONS: it names the methods and is empty (D22).
func checkOptions(answer *http.Response, body []byte) error {
	if answer.Header.Get("Allow") == "" || len(body) > 0 {
		return fmt.Errorf("OPTIONS is answered with the methods %q and %q", answer.Header.Get("Allow"), body)
	}
	return nil
}

// checkRefusal checks the answer to a call that openapi.yaml does not have against the error schema
// (D3).
func (d *document) checkRefusal(answer *http.Response, body []byte) error {
	if answer.StatusCode < http.StatusBadRequest {
		return fmt.Errorf("answered %d, and openapi.yaml does not have it", answer.StatusCode)
	}
	if isPage(answer) {
		return nil
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return fmt.Errorf("status %d: %w\n%s", answer.StatusCode, err, body)
	}
	return d.doc.Components.Schemas["Error"].Value.VisitJSON(value, openapi3.MultiErrors(), uuid)
}

// checkError checks that diagnosticsId is X-Request-Id (D1), and that violations are in the order
// of their paths (D3).
func checkError(answer *http.Response, body []byte) error {
	if id := answer.Header.Get("X-Request-Id"); id == "" {
		return errors.New("no X-Request-Id")
	}
	if answer.StatusCode < http.StatusBadRequest || isPage(answer) {
		return nil
	}
	var e struct {
		Error struct {
			DiagnosticsID    string
			ValidationErrors []struct {
				Errors []struct{ Path, Description string }
			}
		}
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return fmt.Errorf("error body: %w", err)
	}
	if id := answer.Header.Get("X-Request-Id"); e.Error.DiagnosticsID != id {
		return fmt.Errorf("diagnosticsId %q, X-Request-Id %q", e.Error.DiagnosticsID, id)
	}
	for _, v := range e.Error.ValidationErrors {
		for i := range len(v.Errors) - 1 {
			if v.Errors[i].Path > v.Errors[i+1].Path {
				return fmt.Errorf("violations not in order: %s before %s", v.Errors[i].Path, v.Errors[i+1].Path)
			}
		}
	}
	return nil
}
