package jsondiff_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"payledger/projections/jsondiff"
)

// TestDiff: each path names a leaf. Additions, removals and changes are distinguished, also for
// null.
func TestDiff(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`{"a":1}`, `{"a":1}`, ``},
		{`{"a":1}`, `{"a":2}`, `$.a 1 2`},
		{`{"a":null}`, `{"a":"x"}`, `$.a null "x"`},
		{`{}`, `{"a":null}`, `$.a - null`},
		{`{"a":{"b":1,"c":2}}`, `{"a":{"c":2}}`, `$.a.b 1 -`},
		{`{"l":[]}`, `{"l":[{"x":1},{"x":2}]}`, `$.l[0].x - 1; $.l[1].x - 2`},
		{`{"l":[1,2,3]}`, `{"l":[1,5]}`, `$.l[1] 2 5; $.l[2] 3 -`},
		{`{"a":{"b":1}}`, `{"a":7}`, `$.a {"b":1} 7`},
		{`{}`, `{"a":{"b":[true]},"e":{},"f":[]}`, `$.a.b[0] - true; $.e - {}; $.f - []`},
		{`{"a.b":1,"it's":2}`, `{"a.b":3,"it's":4}`, `$['a.b'] 1 3; $['it\'s'] 2 4`},
		{`{"n":9007199254740991}`, `{"n":9007199254740990}`, `$.n 9007199254740991 9007199254740990`},
	} {
		from, err := jsondiff.Tree(json.RawMessage(c.from))
		if err != nil {
			t.Fatal(err)
		}
		to, err := jsondiff.Tree(json.RawMessage(c.to))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, change := range jsondiff.Of(from, to) {
			word := func(m json.RawMessage) string {
				if m == nil {
					return "-"
				}
				return string(m)
			}
			got = append(got, change.Path+" "+word(change.From)+" "+word(change.To))
		}
		slices.Sort(got)
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s → %s: %s, want %s", c.from, c.to, text, c.want)
		}
	}
}
