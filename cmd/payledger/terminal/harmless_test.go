package terminal

import "testing"

// TestHarmless: text that could hide or reorder a line is replaced by its code points; other text
// is unchanged.
func TestHarmless(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "Zoë 東京 😀 a b": "Zoë 東京 😀 a b",
		"\x1b[2Jx\r\n\x7f": `\u001b[2Jx\u000d\u000a\u007f`, "\u009b1m": `\u009b1m`, "a\u202eb\u2066\u200b\ufeff": `a\u202eb\u2066\u200b\ufeff`,
		"שa": "\u2068ש\u2069a", "\u0660": "\u2068\u0660\u2069", "\U0001e900": "\u2068\U0001e900\u2069",
		`x "שלום עולם" -> "א-ב": 5`: "x \"\u2068שלום עולם\u2069\" -> \"\u2068א-ב\u2069\": 5", "א  ב": "\u2068א\u2069  \u2068ב\u2069",
		"שׁ": "\u2068שׁ\u2069", "א\u2069\u202eb": "\u2068א\u2069\\u2069\\u202eb", "\xff": `\ufffd`, "a\u00a0b": `a\u00a0b`,
	} {
		if got := Harmless(text); got != want || Harmless(got) != want {
			t.Errorf("%q is shown as %q, then as %q, want %q", text, got, Harmless(got), want)
		}
	}
	for text, want := range map[string]string{"": "", "abcd": "abcd", "abcde": "abc…", "東京": "東京", "東京a": "東…", "\x1ba": "…", "שלום": "\u2068שלום\u2069", "שלומות": "\u2068שלו\u2069…", "abcש": "abc\u2068ש\u2069", "abcשש": "abc…"} {
		if got := Clip(text, 4); got != want || Columns(got) > 4 {
			t.Errorf("%q is cut to %s, want %s", text, got, want)
		}
	}
	if got := Clip("ab", 0) + Clip("ab", -3); got != "" {
		t.Errorf("%q", got)
	}
}
