package assistant

import (
	"flag"
	"os"
	"testing"

	"payledger/eventstore/eventstoretest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	eventstoretest.AtOnce(8, 2)
	os.Exit(m.Run())
}
