package commandstest

import (
	"flag"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// Main is the TestMain of a package of commands. It runs more tests at the same time than there are
// cores: each of them waits most of its time.
func Main(m *testing.M) {
	flag.Parse()
	eventstoretest.AtOnce(8, 4)
	m.Run()
}
