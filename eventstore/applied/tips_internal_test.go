package applied

import (
	"fmt"
	"testing"

	"payledger/eventstore/format"
)

// TestAbsentIsBounded: the memory for look-ups of absent aggregates does not grow with their
// number.
func TestAbsentIsBounded(t *testing.T) {
	t.Parallel()
	tips := NewTips(false, nil)
	for n := range 3 * maxAbsent {
		if tips.NoteAbsent(format.Key{ID: fmt.Sprint(n)}); len(tips.absent) > maxAbsent {
			t.Fatalf("%d are remembered", len(tips.absent))
		}
	}
}
