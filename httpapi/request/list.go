package request

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"payledger/domain"
	"payledger/httpapi/validation"
	"payledger/projections/listing"
	"payledger/projections/paymentjson"
)

// DefaultLimit is the length of a page without the parameter limit (D20).
const DefaultLimit = 100

// List is the answer of every list (D20).
type List[T any] struct {
	Data       []T    `json:"data"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// Page returns the page of a list that limit and cursor select (D20). Elements are added at the end
// of all, and may be removed. place returns the time of an element's creation, and its id: the
// cursor is the place of the last element before, with the number of elements up to it.
func Page[T any](c *Call, list string, all []T, place func(T) listing.Place) (List[T], error) {
	cursors := c.Cursors(list, nil)
	last, err := cursors.Place(c.Query.Get("cursor"))
	if err != nil {
		return List[T]{}, domain.Invalid(validation.ModelQuery, domain.Violation{Path: "$.cursor", Description: err.Error()})
	}
	start := 0
	if last != nil {
		start = behind(all, *last, place)
	}
	end := min(start+Limit(c.Query), len(all))
	answer := List[T]{Data: append([]T{}, all[start:end]...)}
	if end < len(all) {
		at := place(all[end-1])
		at.ID = strconv.Itoa(end) + " " + at.ID
		answer.NextCursor = cursors.Text(&at)
	}
	return answer, nil
}

// behind returns the index of the first element behind a place. If the element there is gone, the
// page may repeat elements whose times go back (two nodes made them), but leaves none out that it
// can tell.
func behind[T any](all []T, last listing.Place, place func(T) listing.Place) int {
	count, id, _ := strings.Cut(last.ID, " ")
	if i := slices.IndexFunc(all, func(element T) bool { return place(element).ID == id }); i >= 0 {
		return i + 1
	}
	i := slices.IndexFunc(all, func(element T) bool { return place(element).At.Truncate(time.Microsecond).After(last.At) })
	if i < 0 {
		i = len(all)
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		return i
	}
	return min(i, max(0, n-1))
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
