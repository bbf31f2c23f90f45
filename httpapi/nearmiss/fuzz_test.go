package nearmiss

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"payledger/domain/seedtest"
)

// slowly is Of without the sets of letters: it computes every distance.
func slowly(word string, known []string) string {
	w := fold(word)
	if w == "" || len(word) > longest {
		return ""
	}
	best, least := "", longest
	var parts []string
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

// TestOfExcludesNothing: the quick search finds the names that a search of all distances finds.
func TestOfExcludesNothing(t *testing.T) {
	t.Parallel()
	known := []string{"amount", "currencyCode", "customer", "customerId", "metadata", "order", "orderId", "order_id", "paymentMethodToken", "url", "at", "line1", "line2"}
	seedtest.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom(known).Draw(t, "word")
		for range rapid.IntRange(0, 3).Draw(t, "edits") {
			at := rapid.IntRange(0, len(word)).Draw(t, "at")
			letter := rapid.SampledFrom(strings.Split("acdeiortuxyzID_1", "")).Draw(t, "letter")
			word = word[:at] + letter + word[min(len(word), at+rapid.IntRange(0, 1).Draw(t, "cut")):]
		}
		if got, want := Of(word, known), slowly(word, known); got != want {
			t.Fatalf("%q is %q, want %q", word, got, want)
		}
	})
}
