package projections

import (
	"os"
	"testing"

	"payledger/eventstore/eventstoretest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		applyUntilKilled(dir)
		return
	}
	eventstoretest.RunWithoutLeaks(m)
}
