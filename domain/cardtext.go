package domain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// divisions are the groupings of printed card numbers (D21).
var divisions = [][]int{{4, 4, 4, 4, 3}, {4, 4, 4, 4}, {4, 6, 5}, {4, 6, 4}}

// dividers are the characters between the groups; a number has the same one between all groups
// (D21).
const dividers = " -._/\u00a0–"

// HoldsCardNumber reports whether a text holds a card number (D21), divided or not.
func HoldsCardNumber(text string) bool {
	number, _ := FindCardNumber(text, false)
	return number != ""
}

// FindCardNumber returns the first card number in a text (D21), or "": 14–19 digits that
// ValidCardNumber accepts, undivided (unless onlyDivided) or divided as cards print them. No
// letter, digit or point may touch the number: decimals, ids and versions are none. Nor is any part
// of a UUID: its groups have 8, 4, 4, 4 and 12 characters, which no division fits.
func FindCardNumber(text string, onlyDivided bool) (number string, divided bool) {
	if fewDigits(text) {
		return "", false
	}
	if !ascii(text) {
		text = narrow.Replace(text)
	}
	most := len(divisions[0])
	window := make([]digitRun, 0, most) // of the text's runs: memory does not grow with the text (D22.14)
	for at, more := 0, true; more || len(window) > 0; {
		if more {
			var run digitRun
			if run, at, more = nextRun(text, at); more {
				window = append(window, run)
			}
		}
		if more && len(window) < most {
			continue
		}
		if number, divided = firstNumber(window, onlyDivided); number != "" {
			return number, divided
		}
		window = window[:copy(window, window[min(1, len(window)):])]
	}
	return "", false
}

// firstNumber returns the card number that begins with the first run, "" if there is none.
func firstNumber(runs []digitRun, onlyDivided bool) (number string, divided bool) {
	if len(runs) == 0 {
		return "", false
	}
	for _, groups := range divisions {
		if number = joined(runs, groups); ValidCardNumber(number) {
			return number, true
		}
	}
	if run := runs[0]; !onlyDivided && !run.touchedBefore && !run.touchedBehind && ValidCardNumber(run.digits) {
		return run.digits, false
	}
	return "", false
}

type digitRun struct {
	digits                       string // full-width digits are written as ASCII
	divider                      rune   // the one character between this run and the next one, if it is a divider; else 0
	touchedBefore, touchedBehind bool
}

// nextRun returns the first run of digits from a place of a text on, and the place behind it; false
// if there is none.
func nextRun(text string, at int) (run digitRun, behind int, found bool) {
	from := strings.IndexAny(text[at:], "0123456789")
	if from < 0 {
		return run, at, false
	}
	from += at
	to := from
	for to < len(text) && isDigit(rune(text[to])) {
		to++
	}
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, size := utf8.DecodeRuneInString(text[to:])
	next, _ := utf8.DecodeRuneInString(text[min(len(text), to+size):])
	// A full stop does not touch the number.
	run = digitRun{digits: text[from:to], touchedBefore: from > 0 && (alphanumeric(before) || before == '.')}
	run.touchedBehind = to < len(text) && (alphanumeric(after) || after == '.' && alphanumeric(next))
	if to < len(text) && strings.ContainsRune(dividers, after) && isDigit(next) {
		run.divider = after
	}
	return run, to, true
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// narrow writes full-width digits as ASCII.
var narrow = strings.NewReplacer("０", "0", "１", "1", "２", "2", "３", "3", "４", "4", "５", "5", "６", "6", "７", "7", "８", "8", "９", "9")

func alphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// joined returns the digits at the beginning of runs if they are divided into these groups, else
// "".
func joined(runs []digitRun, groups []int) (number string) {
	if len(runs) < len(groups) || runs[0].touchedBefore || runs[len(groups)-1].touchedBehind {
		return ""
	}
	for i, length := range groups {
		if divider := runs[max(i-1, 0)].divider; len(runs[i].digits) != length || divider == 0 || divider != runs[0].divider {
			return ""
		}
		number += runs[i].digits
	}
	return number
}
