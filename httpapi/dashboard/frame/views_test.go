package frame_test

import (
	"net/url"
	"testing"
	"time"

	"payledger/httpapi/dashboard/frame"
)

// TestChoices: a view is marked if its own fields have its values, in any order and on any page
// of the list. Its link leaves the other filters, replaces its kin, and takes an active view away.
// Each other filter is marked and has a link without it.
func TestChoices(t *testing.T) {
	t.Parallel()
	fields := []frame.Field{{Name: "status", Label: "Status", Text: frame.Words}, {Name: "order", Label: "Order"}, {Name: "from", Label: "From"}, {Name: "to", Label: "To"}}
	views := []frame.View{{Name: "Bad", Query: "?status=DECLINED&status=FAILED"}, {Name: "Today", Query: "?from=2"}, {Name: "Yesterday", Query: "?from=1&to=1"}}
	for query, want := range map[string]string{
		"":                "[All]  Bad status=DECLINED&status=FAILED Today from=2 Yesterday from=1&to=1",
		"order=&cursor=x": "[All]  Bad order=&status=DECLINED&status=FAILED Today from=2&order= Yesterday from=1&order=&to=1",
		"from=2&sort=old": "All sort=old Bad from=2&sort=old&status=DECLINED&status=FAILED [Today] sort=old Yesterday from=1&sort=old&to=1",
		"from=1&to=1":     "All  Bad from=1&status=DECLINED&status=FAILED&to=1 Today from=2 [Yesterday] ",
		"from=2&order=7":  "All  Bad from=2&order=7&status=DECLINED&status=FAILED [Today] order=7 Yesterday from=1&order=7&to=1 | [Order: 7] from=2",
		"status=FAILED":   "All  Bad status=DECLINED&status=FAILED Today from=2&status=FAILED Yesterday from=1&status=FAILED&to=1 | [Status: Failed] ",
		"from=2&to=5":     "All  Bad from=2&status=DECLINED&status=FAILED&to=5 Today from=2 Yesterday from=1&to=1 | [From: 2] to=5 | [To: 5] from=2",
		"status=FAILED&status=DECLINED&from=2&cursor=x": "All  [Bad] from=2 [Today] status=FAILED&status=DECLINED Yesterday from=1&status=FAILED&status=DECLINED&to=1",
		"status=FAILED&status=PENDING":                  "All  Bad status=DECLINED&status=FAILED Today from=2&status=FAILED&status=PENDING Yesterday from=1&status=FAILED&status=PENDING&to=1 | [Status: Failed] status=PENDING | [Status: Pending] status=FAILED",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		choices := frame.Form{Values: values}.Choices("/x", fields, views...)
		write := func(before string, all []frame.Choice) {
			for _, c := range all {
				if c.Active {
					c.Text = "[" + c.Text + "]"
				}
				at, err := url.Parse(c.Address)
				if err != nil || at.Path != "/x" {
					t.Fatal(c.Address, err)
				}
				got += before + c.Text + " " + at.RawQuery
			}
		}
		write(" ", choices.Views)
		write(" | ", choices.Filters)
		if got[1:] != want {
			t.Errorf("%q has\n%s, want\n%s", query, got[1:], want)
		}
	}
}

// TestMonth: a month ends with its last day, and the months before may be of another year.
func TestMonth(t *testing.T) {
	t.Parallel()
	for at, want := range map[string][2]frame.Days{
		"2026-01-31": {{First: "2026-01-01", Last: "2026-01-31"}, {First: "2025-12-01", Last: "2025-12-31"}},
		"2024-03-31": {{First: "2024-03-01", Last: "2024-03-31"}, {First: "2024-02-01", Last: "2024-02-29"}},
	} {
		day, err := time.Parse(time.DateOnly, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]frame.Days{frame.Month(day, 0), frame.Month(day, -1)}; got != want {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	}
}
