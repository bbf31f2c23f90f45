// Package csvtext keeps spreadsheets from taking texts of merchants, customers and processors in
// CSV files for formulas.
//
// Rules:
//
//   - A text that begins with a character of a formula, a tab, a line break or an apostrophe gets
//     an apostrophe before it.
//   - A spreadsheet whose separator is a semicolon or a tab divides a text there, and at a line
//     break: it does not take the quotes around a field of this file for quotes. So an apostrophe
//     stands behind each semicolon, tab and line break that a character of a formula or an
//     apostrophe follows, also after blanks and quotes.
//   - A program that reads the file removes one apostrophe from the begin of a text, and each
//     apostrophe that stands directly behind a semicolon, tab or line break. Then it has the text
//     as it was.
//
// The package must not know: what the texts are.
package csvtext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// formulas are the characters with which a formula begins in some spreadsheet, their full-width
	// twins, and the apostrophe.
	formulas = "=+-@＝＋－＠'"
	// dividers are the characters at which some spreadsheet divides a text.
	dividers = ";\t\r\n"
	// beginnings are the characters at the begin of a text that get an apostrophe.
	beginnings = formulas + "\t\r\n"
)

// Escape returns a text as a spreadsheet shows it, and never runs it.
func Escape(text string) string {
	if beginsWith(text, beginnings) {
		text = "'" + text
	}
	if !strings.ContainsAny(text, dividers) {
		return text
	}
	var out strings.Builder
	for {
		at := strings.IndexAny(text, dividers)
		if at < 0 {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:at+1])
		if text = text[at+1:]; beginsWith(strings.TrimLeftFunc(text, skipped), formulas) {
			out.WriteByte('\'')
		}
	}
}

func beginsWith(text, characters string) bool {
	first, size := utf8.DecodeRuneInString(text)
	return size > 0 && strings.ContainsRune(characters, first)
}

// skipped reports whether a spreadsheet may skip a character before a formula.
func skipped(r rune) bool {
	return r == '"' || unicode.IsSpace(r) && !strings.ContainsRune(dividers, r)
}
