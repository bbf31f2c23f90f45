package frame_test

import (
	"net/url"
	"testing"

	"payledger/httpapi/dashboard/frame"
)

// TestViews: the view that has exactly the filters of the address is marked, in any order and on
// any page of the list.
func TestViews(t *testing.T) {
	t.Parallel()
	all := []frame.View{{Name: "All"}, {Name: "Bad", Query: "?status=DECLINED&status=FAILED"}}
	for query, want := range map[string]string{
		"": "All", "order=&cursor=x": "All", "status=FAILED&order=+&status=DECLINED": "Bad", "status=FAILED": "", "status=FAILED&status=DECLINED&order=1": "",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		active := ""
		for _, v := range frame.Views(values, all...) {
			if v.Active {
				active += v.Name
			}
		}
		if active != want {
			t.Errorf("%q marks %q, not %q", query, active, want)
		}
	}
}
