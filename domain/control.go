package domain

import (
	"fmt"
	"unicode/utf8"
)

// ControlCharacter returns the first control character of a text: U+0000 to U+001F and U+0080 to
// U+009F (D22.5). PostgreSQL, SQLite and CSV readers of the exported tables stop or cut a text at
// some of them. lines allows TAB, LF and CR, for text of several lines.
func ControlCharacter(text string, lines bool) (c rune, found bool) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\t' || c == '\n' || c == '\r':
			if !lines {
				return rune(c), true
			}
		case c < ' ':
			return rune(c), true
		case c == 0xc2 && i+1 < len(text) && text[i+1] < 0xa0: // U+0080 to U+009F in UTF-8
			return rune(text[i+1]), true
		}
	}
	return 0, false
}

// Beginning returns the first bytes of a text, whole characters, at most so many bytes.
func Beginning(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > max(0, most-utf8.UTFMax) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// CodePoint returns the number of a character as Unicode writes it, without U+: "0000", "0085".
func CodePoint(r rune) string { return fmt.Sprintf("%04X", r) }
