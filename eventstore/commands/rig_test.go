package commands_test

import (
	"context"
	"testing"

	"payledger/eventstore/commands/commandstest"
)

func TestMain(m *testing.M) { commandstest.Main(m) }

var background = context.Background()

// rig is the shared rig, with methods for the tests of this package.
type rig struct{ *commandstest.Rig }

func newRig(t *testing.T) *rig { return &rig{commandstest.NewRig(t)} }

func newCluster(t *testing.T) *rig { return &rig{commandstest.NewCluster(t)} }

func (r *rig) with(t *testing.T) *rig { return &rig{r.With(t)} }
