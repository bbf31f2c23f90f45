// Package nearmiss finds the name that a writer meant: a field, query parameter, header, path or command that is not known
// is named together with the known one that it looks like (D3). It must not know where the names come from.
//
// Design notes:
//   - Names are compared folded: lower case, letters and digits only. orderID, order_id and Order-Id fold as orderId does.
//   - Then the edit distance decides: insertions, deletions, substitutions and exchanges of neighbours. The longer the name,
//     the more of them are allowed; names of up to three characters must be the same.
//   - A name that begins or ends with the other one counts last, and only if it is the only one: currency for currencyCode.
package nearmiss

import (
	"slices"
	"strings"
)

// longest is the length in bytes above which a text is no name.
const longest = 64

// Of returns the one of the known names that word looks like most, "" if none does. Of equally near ones the first in
// alphabetical order is returned.
func Of(word string, known []string) string {
	w := fold(word)
	if w == "" || len(word) > longest {
		return ""
	}
	best, least := "", longest
	var parts []string // of which one is the beginning or end of the other
	for _, name := range slices.Sorted(slices.Values(known)) {
		k := fold(name)
		if d := distance(w, k); d <= allowed(min(len(w), len(k))) && d < least {
			best, least = name, d
		}
		if partOf(w, k) || partOf(k, w) {
			parts = append(parts, name)
		}
	}
	if best == "" && len(parts) == 1 {
		return parts[0]
	}
	return best
}

// fold returns the letters and digits of a name in lower case.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		default:
			return -1
		}
	}, name)
}

// allowed is how many edits may lie between two names, the shorter of which has n characters.
func allowed(n int) int {
	switch {
	case n < 4:
		return 0
	case n < 6:
		return 1
	default:
		return 2
	}
}

// shortestPart is the length of the shortest part that tells anything.
const shortestPart = 4

// partOf reports whether a longer name begins or ends with part.
func partOf(part, name string) bool {
	return len(part) >= shortestPart && len(part) < len(name) && (strings.HasPrefix(name, part) || strings.HasSuffix(name, part))
}

// distance is the number of edits from a to b: insertions, deletions, substitutions, exchanges of neighbours.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
