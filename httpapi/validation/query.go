package validation

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/domain"
	"payledger/httpapi/nearmiss"
	"payledger/projections/history"
)

// MaxParameters is the greatest number of parameters in a query; more are refused before they are
// parsed (D22.14).
const MaxParameters = 200

func (o *Operation) queryViolations(r Request) Violations {
	var found Violations
	if strings.Count(r.Query, "&") >= MaxParameters {
		found.Add("$", fmt.Sprintf("must have at most %d parameters", MaxParameters))
		return found
	}
	values, err := url.ParseQuery(r.Query)
	if err != nil {
		found.Add("$", "must be name=value pairs, joined by &")
	}
	for name, sent := range values {
		parameter, known := o.Query[name]
		switch {
		case !known:
			found.Add("$"+Member(name), unknownName("parameter", name, o.parameters))
		case parameter.Schema.Value.Type.Is("array"):
			found.ofValues(name, parameter.Schema.Value, sent)
		case len(sent) > 1:
			found.Add("$"+Member(name), "must be sent once")
		default:
			found.ofValue(name, parameter.Schema.Value, sent[0])
		}
	}
	for name, parameter := range o.Query {
		if parameter.Required && len(values[name]) == 0 {
			found.Add("$"+Member(name), "is required")
		}
	}
	if r.Rule != nil && o.Body == nil {
		r.Rule(&found)
	}
	return found.sorted()
}

// ofValues validates the values of a parameter. A value that commas may separate must be valid as a
// whole, or each of its parts.
func (v *Violations) ofValues(name string, schema *openapi3.Schema, sent []string) {
	values := Separate(name, sent)
	if parts := Parts(name, sent); parts != nil {
		var whole Violations
		if whole.ofValue(name, schema.Items.Value, sent[0]); len(whole) > 0 || schema.MaxItems != nil && uint64(len(parts)) > *schema.MaxItems {
			values = parts
		}
	}
	if schema.MaxItems != nil && uint64(len(values)) > *schema.MaxItems {
		v.Add("$"+Member(name), fmt.Sprintf("must have at most %d values", *schema.MaxItems))
		return
	}
	for _, value := range values {
		if v.full() {
			return
		}
		v.ofValue(name, schema.Items.Value, value)
	}
}

// ofValue validates one value of a parameter with its schema, and then with its own rule.
func (v *Violations) ofValue(name string, schema *openapi3.Schema, text string) {
	if fault := textFault(text); fault != "" {
		v.Add("$"+Member(name), fault)
		return
	}
	value := queryValue(text, schema)
	var faults Violations
	faults.ofSchema(value, schema.VisitJSON(value, datesByRule))
	if len(faults) > 0 && strings.HasSuffix(name, "_amount") {
		faults[0].Description += amountHint(value)
	}
	if rule := queryRules[name]; rule != nil && len(faults) == 0 && schema.Format != formatDay {
		rule(&faults, text)
	}
	for _, f := range faults {
		v.Add("$"+Member(name), f.Description)
	}
}

// textFault returns the violation of a text in a URL: it is not UTF-8, or has a control character
// (D22.5). A URL has no text of several lines.
func textFault(text string) string {
	if !utf8.ValidString(text) {
		return "must be UTF-8"
	}
	return controlFault(text, false)
}

const formatDay = "date"

var queryRules = map[string]func(*Violations, string){
	"at": func(v *Violations, text string) {
		if _, err := history.ParseAt(text); err != nil {
			v.Add("$", "must be a revision from 1, or a time such as 2026-03-14T09:00:00Z")
		}
	},
	"from_date": dateRule,
	"to_date":   dateRule,
	"from":      dateRule,
	"to":        dateRule,
	"currency_code": func(v *Violations, text string) {
		if !domain.Currency(text).Known() {
			v.Add("$", "must be an active ISO 4217 currency code")
		}
	},
}

func dateRule(v *Violations, text string) {
	if _, err := ParseTime(text); err != nil {
		v.Add("$", "must be an RFC 3339 date, a + in it written as %2B")
	}
}

// AmountBits is the size of a signed integer that holds every amount and is exact as a float64.
const AmountBits = 54

func queryValue(text string, schema *openapi3.Schema) any {
	switch {
	case schema.Type.Is(openapi3.TypeInteger):
		if n, err := strconv.ParseInt(text, 10, AmountBits); err == nil {
			return float64(n)
		}
	case schema.Type.Is(openapi3.TypeBoolean) && (text == "true" || text == "false"):
		return text == "true"
	}
	return text
}

func unknownName(what, name string, known nearmiss.Names) string {
	text := "is not a known " + what
	if near := known.Of(name); near != "" {
		text += "; did you mean " + near + "?"
	}
	return text
}
