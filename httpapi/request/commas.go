package request

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"payledger/httpapi/validation"
)

// Reading is a query whose parameters are read in one of the two ways that a comma leaves open
// (D22): as one value, or as several.
type Reading struct {
	Query url.Values
	Split []string // the parameters that are read as several values
}

// Warning is an entry of a list's warnings.
type Warning struct {
	Type    string `json:"type"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// readings returns the query in all ways: first as it is, last with every comma as a separator.
func readings(query url.Values) []Reading {
	all := []Reading{{Query: query}}
	for _, name := range validation.Ambiguous(query) {
		for _, r := range all {
			all = append(all, r.splitting(name))
		}
	}
	return all
}

func (r Reading) splitting(name string) Reading {
	query := maps.Clone(r.Query)
	query[name] = validation.Parts(name, query[name])
	return Reading{Query: query, Split: append(slices.Clone(r.Split), name)}
}

// CheckCursor sets Call.From to the place of the request's cursor, which belongs to one of the
// readings. cursors returns the Cursors of a reading.
func (c *Call) CheckCursor(v *validation.Violations, cursors func(url.Values) Cursors) {
	if _, err := c.cursorReading(cursors); err != nil {
		v.Add("$.cursor", err.Error())
	}
}

func (c *Call) cursorReading(cursors func(url.Values) Cursors) (*Reading, error) {
	fault := errCursor
	for _, r := range readings(c.Query) {
		from, err := cursors(r.Query).Place(c.Query.Get("cursor"))
		if err == nil {
			c.From = from
			return &r, nil
		}
		if errors.Is(err, errFilters) {
			fault = errFilters
		}
	}
	return nil, fault
}

// Reading returns the reading of a list's request. A value with a comma is first looked for whole:
// there reports whether anything has it. A further page is read as the first one was: its cursor
// belongs to that reading.
func (c *Call) Reading(cursors func(url.Values) Cursors, there func(name, value string) (bool, error)) (Reading, error) {
	if c.Query.Has("cursor") {
		if r, err := c.cursorReading(cursors); err == nil {
			return *r, nil
		}
	}
	r := Reading{Query: c.Query}
	for _, name := range validation.Ambiguous(c.Query) {
		found, err := there(name, c.Query.Get(name))
		if err != nil {
			return r, err
		}
		if !found {
			r = r.splitting(name)
		}
	}
	return r, nil
}

// Warnings returns a warning for each parameter that was read as several values.
func (r Reading) Warnings() (all []Warning) {
	for _, name := range r.Split {
		all = append(all, Warning{
			Type: "LIST", Code: "SPLIT_AT_COMMAS",
			Message: "Nothing has the value of " + name + " as it was sent, so it was read as the values " + strings.Join(r.Query[name], " and ") +
				". Repeat the parameter for several values: they are taken as they are.",
		})
	}
	return all
}
