package frame

import (
	"net/url"
	"slices"
	"strings"
)

// View is a filter that many people need: "yesterday". It has values for some fields.
type View struct{ Name, Query string }

// Field is a filter of a list: its name in the address, and its label for people.
type Field struct {
	Name, Label string
	Text        func(value string) string // writes a value for people; nil for the value itself
}

// Words writes a constant for people, as the Text of a Field.
func Words(value string) string { return Plain(value) }

// Choice is a link that sets a view or takes a filter away, beside the other filters that are set.
type Choice struct {
	Text, Address string
	Active        bool // it applies: the link takes it away
	Whole         bool // it is the list without filters
}

// Choices are the links above a list: its views, and the filters that no active view has.
type Choices struct{ Views, Filters []Choice }

// Choices returns the links above the list at a path. A view replaces the values of its own fields
// and of those of its kin, the views that share a field with it, and leaves the other filters.
func (f Form) Choices(path string, fields []Field, views ...View) Choices {
	set := Without(f.Values, "cursor", "done")
	out := Choices{Views: []Choice{{Text: "All", Address: Address(path, kept(set, isPlace)), Active: f.Filled() == 0, Whole: true}}}
	parsed := make([]url.Values, len(views))
	for i, view := range views {
		parsed[i], _ = url.ParseQuery(strings.TrimPrefix(view.Query, "?")) // of this program
	}
	covered := map[string]bool{}
	for i, view := range views {
		kin := kinOf(parsed, i)
		within := func(name string) bool { return kin[name] }
		choice := Choice{Text: view.Name, Active: filters(kept(set, within)) == filters(parsed[i])}
		to := kept(set, func(name string) bool { return !kin[name] })
		for name, values := range parsed[i] {
			if covered[name] = covered[name] || choice.Active; !choice.Active {
				to[name] = values
			}
		}
		choice.Address = Address(path, to)
		out.Views = append(out.Views, choice)
	}
	for _, field := range fields {
		if !covered[field.Name] {
			out.Filters = append(out.Filters, field.choices(path, set)...)
		}
	}
	return out
}

// choices returns a link for each value of the field, which takes this value away.
func (f Field) choices(path string, set url.Values) (out []Choice) {
	for i, value := range set[f.Name] {
		if value = strings.TrimSpace(value); value == "" {
			continue
		}
		to := Without(set, f.Name)
		if rest := slices.Delete(slices.Clone(set[f.Name]), i, i+1); len(rest) > 0 {
			to[f.Name] = rest
		}
		if f.Text != nil {
			value = f.Text(value)
		}
		out = append(out, Choice{Text: f.Label + ": " + value, Address: Address(path, to), Active: true})
	}
	return out
}

// kinOf returns the fields of a view and of all views that share a field with it.
func kinOf(views []url.Values, i int) map[string]bool {
	kin := map[string]bool{}
	for name := range views[i] {
		kin[name] = true
	}
	for _, other := range views {
		shares := false
		for name := range other {
			shares = shares || views[i].Has(name)
		}
		for name := range other {
			kin[name] = kin[name] || shares
		}
	}
	return kin
}

// kept returns the values of the fields that fit.
func kept(values url.Values, fits func(name string) bool) url.Values {
	out := url.Values{}
	for name, all := range values {
		if fits(name) {
			out[name] = all
		}
	}
	return out
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
