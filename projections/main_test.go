package projections

import (
	"os"
	"testing"

	"payledger/domain/seedtest"
	"payledger/eventstore/eventstoretest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		applyUntilKilled(dir)
		return
	}
	seedtest.Slow()
	eventstoretest.RunWithoutLeaks(m)
}
