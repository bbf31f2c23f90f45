package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/width"
)

// These two characters enclose right-to-left text. A terminal orders the enclosed text by itself,
// so that it cannot reorder the rest of the line.
const (
	isolate    = '\u2068'
	endIsolate = '\u2069'
)

// Harmless returns a line with text from outside in a form for a terminal. It replaces control
// characters and invisible characters by their code points, because they could hide or reorder
// other parts of the line. Right-to-left letters stay, between isolates.
func Harmless(line string) string {
	text, _ := shown(line, -1)
	return text
}

// Clip returns the result of Harmless, cut to a number of columns. A cut text ends with "…".
func Clip(text string, most int) string {
	if most <= 0 {
		return ""
	}
	if whole, all := shown(text, most); all {
		return whole
	}
	part, _ := shown(text, most-1)
	return part + "…"
}

// shown returns the beginning of a text in its harmless form, at most a number of columns (-1:
// all), and whether it is all of the text.
func shown(text string, most int) (string, bool) {
	var b strings.Builder
	used, inside := 0, false
	all := withoutIsolates([]rune(text))
	for i, r := range all {
		switch {
		case !inside && toTheLeft(r):
			inside = true
			b.WriteRune(isolate)
		case inside && !toTheLeft(r) && !joins(all[i:]):
			inside = false
			b.WriteRune(endIsolate)
		}
		piece := harmless(r)
		if used += Columns(piece); most >= 0 && used > most {
			if inside {
				b.WriteRune(endIsolate)
			}
			return strings.TrimSuffix(b.String(), string(isolate)+string(endIsolate)), false
		}
		b.WriteString(piece)
	}
	if inside {
		b.WriteRune(endIsolate)
	}
	return b.String(), true
}

// withoutIsolates removes the isolates that Harmless has written, so that a text can pass it twice.
// Others stay and become code points.
func withoutIsolates(text []rune) (rest []rune) {
	for i := 0; i < len(text); i++ {
		end := i + 1
		for end < len(text) && text[i] == isolate && (toTheLeft(text[end]) || end > i+1 && joins(text[end:])) {
			end++
		}
		if end == i+1 || end == len(text) || text[end] != endIsolate {
			rest = append(rest, text[i])
			continue
		}
		rest = append(rest, text[i+1:end]...)
		i = end
	}
	return rest
}

// joins reports whether the first of these characters belongs to the right-to-left text before it:
// a mark on a letter, or one space or hyphen between two words.
func joins(next []rune) bool {
	properties, _ := bidi.LookupRune(next[0])
	if properties.Class() == bidi.NSM {
		return strconv.IsPrint(next[0])
	}
	return (next[0] == ' ' || next[0] == '-') && len(next) > 1 && toTheLeft(next[1])
}

func harmless(r rune) string {
	switch {
	case r != utf8.RuneError && strconv.IsPrint(r):
		return string(r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	default:
		return fmt.Sprintf(`\u%04x`, r)
	}
}

func toTheLeft(r rune) bool {
	properties, _ := bidi.LookupRune(r)
	switch properties.Class() {
	case bidi.R, bidi.AL, bidi.AN:
		return strconv.IsPrint(r)
	default:
		return false
	}
}

// Columns returns the number of columns of a text on a terminal, at most; wide characters take two,
// isolates none.
func Columns(text string) (n int) {
	for _, r := range text {
		n += columns(r)
	}
	return n
}

func columns(r rune) int {
	if r == isolate || r == endIsolate {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}
