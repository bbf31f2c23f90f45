package projections

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		applyUntilKilled(dir)
		return
	}
	goleak.VerifyTestMain(m)
}
