package frame

import "testing"

// TestStraight: text outside of fields cannot change the direction of a page; all else stays byte
// by byte.
func TestStraight(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		"":                         "",
		"<p>Zoë שלום a\u200fb</p>": "<p>Zoë שלום a\u200fb</p>",
		"a\u202eb":                 `a\u202eb`,
		"<p title=\"\u202e\">\u202ex\u2069<b>\u2066</b> 1 &gt; 0</p>\u202d":           "<p title=\"\u202e\">" + `\u202ex\u2069<b>\u2066</b> 1 &gt; 0</p>\u202d`,
		"<input value=\"\u202e\"><textarea name=\"a\">\u202e &lt;</textarea>\u202e<p": "<input value=\"\u202e\"><textarea name=\"a\">\u202e &lt;</textarea>" + `\u202e<p`,
		"<textarea>\u202e": "<textarea>\\u202e",
	} {
		if got := string(straight([]byte(page))); got != want {
			t.Errorf("%q is %q, want %q", page, got, want)
		}
	}
}
