package frame

import (
	"net/url"
	"slices"
	"strings"
)

// View is a list with filters that many people need.
type View struct {
	Name, Query string // the query has its question mark; "" for no filter
	Active      bool   // the page shows it
}

// Views marks the view that has exactly the filters of a page's address.
func Views(values url.Values, all ...View) []View {
	all = slices.Clone(all)
	for i := range all {
		query, err := url.ParseQuery(strings.TrimPrefix(all[i].Query, "?"))
		all[i].Active = err == nil && filters(query) == filters(values)
	}
	return all
}

// filters writes the filters of an address in one order, without empty ones.
func filters(values url.Values) string {
	out := url.Values{}
	for name, all := range values {
		for _, value := range all {
			if value = strings.TrimSpace(value); value != "" && !isPlace(name) {
				out[name] = append(out[name], value)
			}
		}
		slices.Sort(out[name])
	}
	return out.Encode()
}

// Filled returns the number of filters that a form has.
func (f Form) Filled() int {
	n := 0
	for name, all := range f.Values {
		if !isPlace(name) && strings.TrimSpace(strings.Join(all, "")) != "" {
			n++
		}
	}
	return n
}

// isPlace reports whether a parameter of an address is no filter: it is the place or the order of
// the page, or the message on it.
func isPlace(name string) bool { return name == "cursor" || name == "done" || name == "sort" }
