package projections

import (
	"flag"
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
	flag.Parse()
	eventstoretest.AtOnce(2, 2)
	eventstoretest.RunWithoutLeaks(m)
}
