package jsontext_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"payledger/projections/jsontext"
)

// FuzzAppend: every string has the bytes that encoding/json writes, with and without escaped HTML.
func FuzzAppend(f *testing.F) {
	for _, s := range []string{"", "plain", "<b>&\u2028\u2029é€😀", "\x00\x1f\x7f\b\f\n\r\t\\\"", "\xff\xc3(", "\xe2\x80", "\xe2\x80\xa8x", "\xef\xbf\xbd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, html := range []bool{false, true} {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(html)
			if err := e.Encode(s); err != nil {
				t.Fatal(err)
			}
			want := "before" + strings.TrimSuffix(b.String(), "\n")
			if got := jsontext.Append([]byte("before"), s, html); string(got) != want {
				t.Errorf("%q: %s, want %s", s, got, want)
			}
			if got := jsontext.Append([]byte("before"), []byte(s), html); string(got) != want {
				t.Errorf("bytes of %q: %s, want %s", s, got, want)
			}
		}
	})
}
