package domain

import (
	"strings"
	"unicode"
)

// divisions are the groupings of printed card numbers (D21).
var divisions = [][]int{{4, 4, 4, 4, 3}, {4, 4, 4, 4}, {4, 6, 5}, {4, 6, 4}}

// dividers are the characters between the groups; a number has the same one between all groups (D21).
const dividers = " -._/\u00a0–"

// HoldsCardNumber reports whether a text holds a card number (D21), divided or not.
func HoldsCardNumber(text string) bool {
	number, _ := FindCardNumber(text, false)
	return number != ""
}

// FindCardNumber returns the first card number in a text (D21), or "": 14–19 digits that ValidCardNumber accepts, undivided
// (unless onlyDivided) or divided as cards print them. No letter, digit or point may touch the number: decimals, ids and
// versions are none. Nor is any part of a UUID: its groups have 8, 4, 4, 4 and 12 characters, which no division fits.
func FindCardNumber(text string, onlyDivided bool) (number string, divided bool) {
	if fewDigits(text) {
		return "", false
	}
	runs := digitRuns(text)
	for i, run := range runs {
		for _, groups := range divisions {
			if number = joined(runs[i:], groups); ValidCardNumber(number) {
				return number, true
			}
		}
		if !onlyDivided && !run.touchedBefore && !run.touchedBehind && ValidCardNumber(run.digits) {
			return run.digits, false
		}
	}
	return "", false
}

type digitRun struct {
	digits                       string // full-width digits are written as ASCII
	divider                      rune   // the one character between this run and the next one, if it is a divider; else 0
	touchedBefore, touchedBehind bool
}

func digitRuns(text string) (runs []digitRun) {
	runes := []rune(" " + narrow.Replace(text) + "  ") // so that every run has one neighbour before it and two after it
	for i := 1; i < len(runes); i++ {
		from := i
		for ; runes[i] >= '0' && runes[i] <= '9'; i++ {
		}
		if i == from {
			continue
		}
		before, behind, next := runes[from-1], runes[i], runes[i+1]
		// A full stop does not touch the number.
		run := digitRun{string(runes[from:i]), 0, alphanumeric(before) || before == '.', alphanumeric(behind) || behind == '.' && alphanumeric(next)}
		if strings.ContainsRune(dividers, behind) && next >= '0' && next <= '9' {
			run.divider = behind
		}
		runs = append(runs, run)
	}
	return runs
}

// narrow writes full-width digits as ASCII.
var narrow = strings.NewReplacer("０", "0", "１", "1", "２", "2", "３", "3", "４", "4", "５", "5", "６", "6", "７", "7", "８", "8", "９", "9")

func alphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// joined returns the digits at the beginning of runs if they are divided into these groups, else "".
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
