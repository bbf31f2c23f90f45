package servicetest

import (
	"testing"

	"payledger/cmd/payledger/limits"
	"payledger/httpapi"
	"payledger/httpapi/intake"
)

// TestExportsFitTheSmallestMemory: the largest answer of the API, an exported list, gets its memory
// on a service with the smallest --memory that does nothing else.
func TestExportsFitTheSmallestMemory(t *testing.T) {
	t.Parallel()
	if !intake.NewBudget(limits.Of(limits.MinMemory).Answers).Take("client", httpapi.LargestAnswer) {
		t.Error("every export is refused")
	}
}
