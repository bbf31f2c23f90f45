package terminal

import "testing"

// TestHarmless: text that could hide or reorder a line is replaced by its code points; other text
// is unchanged.
func TestHarmless(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "Zoë 東京 😀 a b": "Zoë 東京 😀 a b",
		"\x1b[2Jx\r\n\x7f": `\u001b[2Jx\u000d\u000a\u007f`, "\u009b1m": `\u009b1m`, "a\u202eb\u2066\u200b\ufeff": `a\u202eb\u2066\u200b\ufeff`,
		"שa": `\u05e9a`, "\u0660": `\u0660`, "\U0001e900": `\U0001e900`, "\xff": `\ufffd`, "a\u00a0b": `a\u00a0b`,
	} {
		if got := Harmless(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{"": "", "abcd": "abcd", "abcde": "abc…", "東京": "東京", "東京a": "東…", "\x1ba": `\u0…`} {
		if got := Clip(text, 4); got != want || Columns(got) > 4 {
			t.Errorf("%q is cut to %s, want %s", text, got, want)
		}
	}
	if got := Clip("ab", 0) + Clip("ab", -3); got != "" {
		t.Errorf("%q", got)
	}
}
