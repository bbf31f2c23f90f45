package docs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// errorKind is an errorId of D3.
type errorKind struct {
	ID         string
	Status     int
	When       string // from openapi.yaml
	Suggestion string // what to do
	Answer     string // a recorded answer
	Calls      []*call
}

// kinds reads the table of errorIds, which openapi.yaml has in the description of ErrorId.
func (d *document) kinds() ([]*errorKind, error) {
	ids, _ := d.Components.Schemas.get("ErrorId")
	if ids == nil {
		return nil, fmt.Errorf("docs: openapi.yaml has no ErrorId")
	}
	var kinds []*errorKind
	for line := range strings.Lines(ids.Description) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 5 {
			continue
		}
		status, err := strconv.Atoi(strings.TrimSpace(cells[2]))
		if err != nil {
			continue // the head of the table
		}
		for id := range strings.SplitSeq(cells[1], ",") {
			kinds = append(kinds, &errorKind{ID: strings.TrimSpace(id), Status: status, When: strings.TrimSpace(strings.Join(cells[3:len(cells)-1], "|"))})
		}
	}
	return kinds, nil
}

// general are the errorIds that a status alone implies, for every call that documents the status.
var general = map[string][]string{
	"405": {"MethodNotAllowed"}, "413": {"RequestTooLarge"}, "415": {"UnsupportedMediaType"}, "422": {"RequestValidationError"},
	"429": {"RateLimitExceeded"}, "431": {"RequestHeadersTooLarge"}, "500": {"InternalError"}, "503": {"ServiceUnavailable"},
	"401": {"Unauthorized"}, "403": {"MissingScope"}, "404": {"NotFound"}, "409": {"ConcurrentModification"},
}

// errorIDs returns the errorIds that an operation can answer, in the order of D3's table: its
// x-errorIds and those of its kind of calls.
func (d *document) errorIDs(o operation, order []*errorKind) (ids []string) {
	can := map[string]bool{}
	for _, id := range o.ErrorIDs {
		can[id] = true
	}
	for _, r := range o.Responses {
		if _, page := d.response(r.Value).Content.get("text/html"); page {
			continue
		}
		for _, id := range general[r.Key] {
			can[id] = true
		}
	}
	if !o.Keyed() {
		can["MissingScope"] = false
	}
	if o.public() && !slices.Contains(o.ErrorIDs, "Unauthorized") {
		can["Unauthorized"] = false
	}
	if d.versioned(o) {
		can["ApiVersionMissing"], can["ApiVersionNotSupported"] = true, true
	}
	for _, r := range o.Responses {
		if r.Key == "415" || o.Body != nil {
			can["MalformedJson"] = true
		}
	}
	if o.Browser() {
		can["ClientSessionValidationError"] = true
	}
	for _, k := range order {
		if can[k.ID] {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

// Keyed reports whether the call needs an API key.
func (o operation) Keyed() bool { return o.secured("apiKey") }

// Browser reports whether the call needs a client token.
func (o operation) Browser() bool { return o.secured("clientToken") }

func (o operation) public() bool { return !o.Keyed() && !o.Browser() }

func (o operation) secured(scheme string) bool {
	return slices.ContainsFunc(o.Security, func(s map[string][]string) bool { _, is := s[scheme]; return is })
}

func (d *document) versioned(o operation) bool {
	return slices.ContainsFunc(o.Parameters, func(p param) bool { return d.param(p).Name == "X-API-VERSION" })
}

// ErrorIDs returns the errorIds that each operation of openapi.yaml can answer.
func ErrorIDs(openapi []byte) (map[string][]string, error) {
	d, err := parse(openapi)
	if err != nil {
		return nil, err
	}
	order, err := d.kinds()
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for _, path := range d.Paths {
		for _, o := range path.Value {
			all[o.Value.ID] = d.errorIDs(o.Value, order)
		}
	}
	return all, nil
}

// Sentence returns the reason as a sentence.
func (k *errorKind) Sentence() string {
	if k.When == "" {
		return ""
	}
	return strings.ToUpper(k.When[:1]) + k.When[1:] + "."
}
