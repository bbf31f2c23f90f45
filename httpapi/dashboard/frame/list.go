package frame

import (
	"maps"
	"math"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"time"

	"payledger/domain"
)

// List is a page of a list of the API.
type List[T any] struct {
	Data       []T
	NextCursor string
}

// All reads all pages of a list of the API.
func All[T any](v *Visit, path string) ([]T, error) {
	all, _, err := Some[T](v, path, Query("limit", "100"), math.MaxInt)
	return all, err
}

// Some reads pages of a list of the API with parameters, at most a number of them. more reports
// whether there are further ones.
func Some[T any](v *Visit, path string, q url.Values, pages int) (all []T, more bool, err error) {
	for range pages {
		var page List[T]
		if err := v.Get(path, q, &page); err != nil {
			return nil, false, err
		}
		all = append(all, page.Data...)
		if page.NextCursor == "" {
			return all, false, nil
		}
		q.Set("cursor", page.NextCursor)
	}
	return all, true, nil
}

// One returns the entry of a list of the API that fits, or the error missing.
func One[T any](v *Visit, path string, fits func(T) bool, missing error) (one T, err error) {
	all, err := All[T](v, path)
	if err != nil {
		return one, err
	}
	if i := slices.IndexFunc(all, fits); i >= 0 {
		return all[i], nil
	}
	return one, missing
}

// APITotals is the API's path of the totals of payments.
const APITotals = "/management/payment-totals"

// Totals are those of all payments that fit filters.
type Totals struct {
	Payments   int64
	More       bool // the sums are of the newest that fit
	Currencies []struct {
		CurrencyCode                           domain.Currency
		Payments                               int64
		Amount, AmountCaptured, AmountRefunded *big.Int
	}
}

// Filters returns the parameters of the API for the filters in a form. fields has the parameter of
// each field.
func (f *Form) Filters(fields map[string]string) url.Values {
	q := url.Values{}
	for field, parameter := range fields {
		for _, value := range f.Values[field] {
			if value = strings.TrimSpace(value); value != "" {
				q.Add(parameter, value)
			}
		}
	}
	return q
}

// Filtered reads the page of a list that belongs to the address of this page: with filters, and
// from its cursor. If the API refuses a filter, the form has the reason, and to stays empty. It
// reads nothing for a form with a fault.
func (v *Visit) Filtered(f *Form, path string, filters url.Values, to any, fields ...string) error {
	if !f.Sound() {
		return nil
	}
	filters.Set("limit", "50")
	if cursor := v.Value("cursor"); cursor != "" {
		filters.Set("cursor", cursor)
	}
	if err := v.Get(path, filters, to); err != nil {
		return f.Refused(err, fields...)
	}
	return nil
}

// Days calls set with the bounds of a period that the fields from and to of a form name by whole
// days. It notes a text that is no day.
func (f *Form) Days(set func(field, at string)) {
	for _, bound := range []struct {
		field string
		add   time.Duration
	}{{"from", 0}, {"to", 24*time.Hour - time.Microsecond}} {
		text := f.Text(bound.field)
		if text == "" {
			continue
		}
		day, err := ParseDay(text)
		if err != nil {
			f.Fault(bound.field, "Write the day as in 2026-03-14.")
			continue
		}
		set(bound.field, APITime(day.Add(bound.add)))
	}
}

// Days is a period of whole days in UTC, both included: "2026-03-01".
type Days struct{ First, Last string }

// Month returns the days of the month that is some months after that of a time.
func Month(at time.Time, after int) Days {
	first := time.Date(at.UTC().Year(), at.UTC().Month()+time.Month(after), 1, 0, 0, 0, 0, time.UTC)
	return Days{first.Format(time.DateOnly), first.AddDate(0, 1, -1).Format(time.DateOnly)}
}

// APITime writes a time for the API, to the microsecond.
func APITime(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000000Z") }

// At returns the address of a list with filters at a cursor; "" without a cursor.
func At(path string, filters url.Values, cursor string) string {
	if cursor == "" {
		return ""
	}
	q := Without(filters, "done")
	q.Set("cursor", cursor)
	return Address(path, q)
}

// Query returns parameters from names and values in turn. A parameter without a value is left out.
func Query(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// Without returns a copy of values without some of them.
func Without(values url.Values, names ...string) url.Values {
	out := url.Values{}
	maps.Copy(out, values)
	for _, name := range names {
		delete(out, name)
	}
	return out
}

// Address returns a path with parameters.
func Address(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}
