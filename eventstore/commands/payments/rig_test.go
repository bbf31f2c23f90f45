package payments_test

import (
	"context"
	"flag"
	"testing"

	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/eventstoretest"
)

// TestMain runs more tests at the same time than there are processors: each of them waits most of its time.
func TestMain(m *testing.M) {
	flag.Parse()
	eventstoretest.AtOnce(8, 4)
	m.Run()
}

var background = context.Background()

// rig is the shared rig, with methods for the tests of this package.
type rig struct{ *commandstest.Rig }

func newRig(t *testing.T) *rig { return &rig{commandstest.NewRig(t)} }

func newRigFor(t *testing.T, soleWriter bool) *rig {
	return &rig{commandstest.NewRigFor(t, soleWriter)}
}

func (r *rig) with(t *testing.T) *rig { return &rig{r.With(t)} }
