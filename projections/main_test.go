package projections

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		applyUntilKilled(dir)
		return
	}
	goleak.VerifyTestMain(m)
}
