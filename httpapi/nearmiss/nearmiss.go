// Package nearmiss finds the known name that an unknown field, query parameter, header, path or command resembles (D3), so that an
// error can suggest it. It must not know where the names come from.
//
// Design notes:
//   - Names are compared in lower case, letters and digits only: orderID, order_id and Order-Id equal orderId.
//   - Then the edit distance decides: insertions, deletions, substitutions and exchanges of neighbours. Longer names may have more
//     edits; names of up to three characters must be equal.
//   - A name that begins or ends with the other counts last, and only if no other does: currency for currencyCode.
package nearmiss

import (
	"slices"
	"strings"
)

const longest = 64

// Of returns the known name that word resembles most, of equally near names the first in the alphabet; "" if it resembles none.
func Of(word string, known []string) string {
	w := fold(word)
	if w == "" || len(word) > longest {
		return ""
	}
	best, least := "", longest
	var parts []string // names of which word is a part, or which are parts of word
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

// allowed returns the greatest number of edits between two names, the shorter of which has n characters.
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

const shortestPart = 4

func partOf(part, name string) bool {
	return len(part) >= shortestPart && len(part) < len(name) && (strings.HasPrefix(name, part) || strings.HasSuffix(name, part))
}

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
