package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/width"
)

// Harmless returns a line with text from outside in a form for a terminal. It replaces control
// characters, invisible characters and right-to-left text by their code points, because they could
// hide or reorder other parts of the line.
func Harmless(line string) string {
	var b strings.Builder
	for _, r := range line {
		switch {
		case r != utf8.RuneError && strconv.IsPrint(r) && !toTheLeft(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func toTheLeft(r rune) bool {
	properties, _ := bidi.LookupRune(r)
	switch properties.Class() {
	case bidi.R, bidi.AL, bidi.AN:
		return true
	default:
		return false
	}
}

// Columns returns the number of columns of a text on a terminal, at most; wide characters take two.
func Columns(text string) (n int) {
	for _, r := range text {
		n += columns(r)
	}
	return n
}

func columns(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// Clip returns the result of Harmless, cut to a number of columns. A cut text ends with "…".
func Clip(text string, most int) string {
	text = Harmless(text)
	if Columns(text) <= most {
		return text
	}
	used := 0
	for i, r := range text {
		if used += columns(r); used > most-1 {
			if i == 0 {
				return ""
			}
			return text[:i] + "…"
		}
	}
	return text
}
