// Package csvtext keeps spreadsheets from taking texts of merchants, customers and processors in
// CSV files for formulas.
//
// Rules: a text that a spreadsheet could take for a formula gets an apostrophe before it, and so
// does a text that begins with an apostrophe. A program that reads the file removes one apostrophe
// from the begin of a text, and has the text as it was.
//
// The package must not know: what the texts are.
package csvtext

import (
	"strings"
	"unicode/utf8"
)

// beginnings are the characters with which a formula begins in some spreadsheet, their full-width
// twins, and the apostrophe.
const beginnings = "=+-@\t\r\n＝＋－＠'"

// Escape returns a text as a spreadsheet shows it, and never runs it.
func Escape(text string) string {
	if first, size := utf8.DecodeRuneInString(text); size > 0 && strings.ContainsRune(beginnings, first) {
		return "'" + text
	}
	return text
}
