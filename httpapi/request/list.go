package request

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"payledger/domain"
	"payledger/httpapi/validation"
	"payledger/projections/paymentjson"
)

// DefaultLimit is the length of a page without the parameter limit (D20).
const DefaultLimit = 100

// List is the answer of every list (D20).
type List[T any] struct {
	Data       []T    `json:"data"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// Page returns the page that limit and cursor select (D20). all grows at its end only; the cursor
// is the id of the last element before.
func Page[T any](c *Call, all []T, id func(T) string) (List[T], error) {
	start := 0
	if cursor := c.Query.Get("cursor"); cursor != "" {
		start = slices.IndexFunc(all, func(element T) bool { return id(element) == cursor }) + 1
		if start == 0 {
			return List[T]{}, domain.Invalid(validation.ModelQuery, domain.Violation{Path: "$.cursor", Description: "is not a cursor of this list"})
		}
	}
	end := min(start+Limit(c.Query), len(all))
	answer := List[T]{Data: append([]T{}, all[start:end]...)}
	if end < len(all) {
		answer.NextCursor = id(all[end-1])
	}
	return answer, nil
}

// Limit returns the length of a page (D20).
func Limit(query url.Values) int { return Integer(query, "limit", DefaultLimit) }

// Integer returns the value of a validated integer parameter; the argument otherwise if the
// parameter is absent.
func Integer(query url.Values, name string, otherwise int) int {
	if n, err := strconv.Atoi(query.Get(name)); err == nil {
		return n
	}
	return otherwise
}

// Read returns the value of a parameter; nil if the parameter is absent or invalid.
func Read[T any](query url.Values, name string, parse func(string) (T, error)) *T {
	value, err := parse(query.Get(name))
	if err != nil {
		return nil
	}
	return &value
}

// Several returns the values of a repeatable parameter, sorted and without duplicates.
func Several(query url.Values, name string) []string {
	return slices.Compact(slices.Sorted(slices.Values(validation.Separate(name, query[name]))))
}

// Map renders all elements.
func Map[E, A any](elements []E, render func(E) A) []A {
	all := make([]A, len(elements))
	for i, e := range elements {
		all[i] = render(e)
	}
	return all
}

// Time renders a time that may be nil.
func Time(at *time.Time) *paymentjson.Time {
	if at == nil {
		return nil
	}
	return &paymentjson.Time{Time: *at}
}
