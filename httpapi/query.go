package httpapi

import (
	"strconv"
	"strings"

	"payledger/domain"
)

// checkQuery names every fault of the query parameters, model QueryString (D1).
func (c *call) checkQuery() error {
	op, found := c.api.schemas[c.route.operation], violations{}
	for name, values := range c.r.URL.Query() {
		parameter, known := op.query[name]
		switch {
		case !known:
			found.add("$"+member(name), "is not a known parameter")
		case len(values) > 1:
			found.add("$"+member(name), "must be sent once")
		default:
			if err := parameter.Schema.Value.VisitJSON(queryValue(values[0], parameter.Schema.Value.Type.Is("integer"))); err != nil {
				found.ofValue("$"+member(name), err)
			}
		}
	}
	return found.err("QueryString")
}

// queryValue reads a parameter as its schema's type.
func queryValue(text string, integer bool) any {
	if integer {
		if n, err := strconv.ParseInt(text, 10, 53); err == nil {
			return float64(n)
		}
	}
	return text
}

// expandsEvents tells whether the caller asks for the transactions' events (§4).
func (c *call) expandsEvents() bool {
	return strings.Contains(","+c.r.URL.Query().Get("expand")+",", ",transactions.events,")
}

// page cuts a list as limit and cursor say; the cursor is the number of elements before the page (D20).
func page[T any](c *call, all []T) (list[T], error) {
	query := c.r.URL.Query()
	limit, start := defaultLimit, 0
	if text := query.Get("limit"); text != "" {
		limit, _ = strconv.Atoi(text) // checked against the schema
	}
	if text := query.Get("cursor"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > len(all) {
			return list[T]{}, domain.Invalid("QueryString", domain.Violation{Path: "$.cursor", Description: "is not a cursor of this list"})
		}
		start = n
	}
	end := min(start+limit, len(all))
	answer := list[T]{Data: append([]T{}, all[start:end]...)}
	if end < len(all) {
		answer.NextCursor = strconv.Itoa(end)
	}
	return answer, nil
}

// defaultLimit is the length of a page when the caller does not say.
const defaultLimit = 100

// list is the answer of every list (D20).
type list[T any] struct {
	Data       []T    `json:"data"`
	NextCursor string `json:"nextCursor,omitempty"`
}
