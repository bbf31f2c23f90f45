package accounts_test

import (
	"testing"

	"payledger/eventstore/commands/commandstest"
)

func TestMain(m *testing.M) { commandstest.Main(m) }

// rig is the shared rig, with methods for the tests of this package.
type rig struct{ *commandstest.Rig }

func newRig(t *testing.T) *rig { return &rig{commandstest.NewRig(t)} }
