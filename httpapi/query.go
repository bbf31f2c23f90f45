package httpapi

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/domain"
	"payledger/projections/history"
)

// queryViolations names every fault of the query parameters (D1).
func (c *call) queryViolations() violations {
	var found violations
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		found.add("$", "must be name=value pairs, joined by &")
	}
	for name, sent := range values {
		parameter, known := c.operation.query[name]
		switch {
		case !known:
			found.add("$"+member(name), unknownName("parameter", name, slices.Collect(maps.Keys(c.operation.query))))
		case parameter.Schema.Value.Type.Is("array"):
			found.ofValues(name, parameter.Schema.Value, separate(sent))
		case len(sent) > 1:
			found.add("$"+member(name), "must be sent once")
		default:
			found.ofValue(name, parameter.Schema.Value, sent[0])
		}
	}
	for name, parameter := range c.operation.query {
		if parameter.Required && len(values[name]) == 0 {
			found.add("$"+member(name), "is required")
		}
	}
	if rule := wholeQueryRules[c.route.operation]; rule != nil {
		rule(&found, values, c)
	}
	return found.sorted()
}

// ofValues holds a parameter with several values to its schema.
func (v *violations) ofValues(name string, schema *openapi3.Schema, values []string) {
	if schema.MaxItems != nil && uint64(len(values)) > *schema.MaxItems {
		v.add("$"+member(name), fmt.Sprintf("must have at most %d values", *schema.MaxItems))
		return
	}
	for _, value := range values {
		v.ofValue(name, schema.Items.Value, value)
	}
}

// ofValue holds one value of a parameter to its schema, and to its own rule if the schema has no fault to find.
func (v *violations) ofValue(name string, schema *openapi3.Schema, text string) {
	value := queryValue(text, schema.Type.Is("integer"))
	var faults violations
	faults.ofSchema(value, schema.VisitJSON(value, datesByRule))
	if len(faults) > 0 && strings.HasSuffix(name, "_amount") {
		faults[0].Description += amountHint(value)
	}
	if rule := queryRules[name]; rule != nil && len(faults) == 0 {
		rule(&faults, text)
	}
	for _, f := range faults {
		v.add("$"+member(name), f.Description)
	}
}

// separate takes apart the values of a parameter that may be repeated, joined by commas, or both (D11).
func separate(sent []string) (values []string) {
	for _, joined := range sent {
		values = append(values, strings.Split(joined, ",")...)
	}
	return values
}

// queryRules are the rules of single parameters that their schemas cannot say.
var queryRules = map[string]func(*violations, string){
	"at": func(v *violations, text string) {
		if _, err := history.ParseAt(text); err != nil {
			v.add("$", "must be a revision from 1 or an RFC 3339 date")
		}
	},
	"from_date": dateRule,
	"to_date":   dateRule,
	"from":      dateRule,
	"to":        dateRule,
	"currency_code": func(v *violations, text string) {
		if !domain.Currency(text).Known() {
			v.add("$", "must be an active ISO 4217 currency code")
		}
	},
}

// dateRule: D1.
func dateRule(v *violations, text string) {
	if _, err := parseTime(text); err != nil {
		v.add("$", "must be an RFC 3339 date, a + in it written as %2B")
	}
}

// wholeQueryRules are the rules of single calls about several parameters.
var wholeQueryRules = map[string]func(*violations, url.Values, *call){
	"listPayments":          listRules,
	"listWebhookDeliveries": deliveryRules,
	"listDisputes":          disputeRules,
	"listWorkflowRuns":      runRules,
	"getReconciliation":     reconciliationRules,
}

// amountBits is the size of a signed integer that holds every amount, and that a float64 holds exactly.
const amountBits = 54

// queryValue reads a parameter as its schema's type.
func queryValue(text string, integer bool) any {
	if integer {
		if n, err := strconv.ParseInt(text, 10, amountBits); err == nil {
			return float64(n)
		}
	}
	return text
}

// expandsEvents tells whether the caller asks for the transactions' events (§4).
func (c *call) expandsEvents() bool { return c.r.URL.Query().Get("expand") == expandEvents }

// defaultLimit is the length of a page when the caller does not say.
const defaultLimit = 100

// list is the answer of every list (D20).
type list[T any] struct {
	Data       []T    `json:"data"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// page cuts a list as limit and cursor say (D20). all stands in the order of creation and only grows at its
// end; the cursor names the last element of the page before by its id.
func page[T any](c *call, all []T, id func(T) string) (list[T], error) {
	query := c.r.URL.Query()
	limit, start := defaultLimit, 0
	if text := query.Get("limit"); text != "" {
		limit, _ = strconv.Atoi(text) // the schema has seen it
	}
	if cursor := query.Get("cursor"); cursor != "" {
		start = len(all) + 1
		for i, element := range all {
			if id(element) == cursor {
				start = i + 1
			}
		}
		if start > len(all) {
			return list[T]{}, domain.Invalid(modelQuery, domain.Violation{Path: "$.cursor", Description: "is not a cursor of this list"})
		}
	}
	end := min(start+limit, len(all))
	answer := list[T]{Data: append([]T{}, all[start:end]...)}
	if end < len(all) {
		answer.NextCursor = id(all[end-1])
	}
	return answer, nil
}
