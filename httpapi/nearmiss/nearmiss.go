// Package nearmiss finds the known name that an unknown field, query parameter, header, path or
// command resembles (D3), so that an error can suggest it. It must not know where the names come
// from.
//
// Design notes:
//   - Names are compared in lower case, letters and digits only: orderID, order_id and Order-Id
//     equal orderId.
//   - Then the edit distance decides: insertions, deletions, substitutions and exchanges of
//     neighbours. Longer names may have more edits; names of up to three characters must be equal.
//   - A name that begins or ends with the other counts last, and only if no other does: currency
//     for currencyCode.
//   - A search must be cheap: a request may have a hundred unknown names. The sets of letters and
//     the lengths exclude most known names before the edit distance is computed.
package nearmiss

import (
	"math/bits"
	"slices"
	"strings"
)

const longest = 64

// Of returns the known name that word resembles most, of equally near names the first in the
// alphabet; "" if it resembles none.
func Of(word string, known []string) string { return New(known).Of(word) }

// Names are known names, prepared for many searches: a hostile request has many unknown names
// (D22.14).
type Names []name

type name struct {
	name, folded string
	letters      letters
}

// New prepares known names.
func New(known []string) Names {
	names := make(Names, 0, len(known))
	for _, n := range slices.Sorted(slices.Values(known)) {
		folded := fold(n)
		names = append(names, name{n, folded, lettersOf(folded)})
	}
	return names
}

// Of returns the known name that word resembles most, of equally near names the first in the
// alphabet; "" if it resembles none.
func (names Names) Of(word string) string {
	if len(word) > longest {
		return ""
	}
	w := fold(word)
	if w == "" {
		return ""
	}
	best, least, have := "", longest, lettersOf(w)
	part, parts := "", 0 // names of which word is a part, or which are parts of word
	for i := range names {
		k := &names[i]
		if most := min(least-1, allowed(min(len(w), len(k.folded)))); have.mayBeWithin(k.letters, most) && abs(len(w)-len(k.folded)) <= most {
			if d := distance(w, k.folded); d <= most {
				best, least = k.name, d
			}
		}
		if partOf(w, k.folded) || partOf(k.folded, w) {
			part = k.name
			parts++
		}
	}
	if best == "" && parts == 1 {
		return part
	}
	return best
}

// letters is the set of the letters and digits of a folded name: bit 0 is "0", bit 10 is "a".
type letters uint64

func lettersOf(folded string) (set letters) {
	for i := range len(folded) {
		if c := folded[i]; c <= '9' {
			set |= 1 << (c - '0')
		} else {
			set |= 1 << (c - 'a' + 10)
		}
	}
	return set
}

// mayBeWithin reports whether two names can be that many edits apart: an edit removes and adds at
// most one letter each.
func (l letters) mayBeWithin(other letters, edits int) bool {
	return edits >= 0 && bits.OnesCount64(uint64(l^other)) <= 2*edits
}

func abs(n int) int { return max(n, -n) }

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

// allowed returns the greatest number of edits between two names, the shorter of which has n
// characters.
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
