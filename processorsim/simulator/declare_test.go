package simulator_test

import (
	"context"
	"slices"
	"testing"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// TestDeclaration: each processor declares itself; the simulated ones can do everything.
func TestDeclaration(t *testing.T) {
	b := newBench(t)
	for _, name := range processor.Names {
		d, err := b.client.Declaration(context.Background(), name)
		if err != nil || d.Protocol != 1 || d.Processor != name || d.Live {
			t.Errorf("%s declares %+v, %v", name, d, err)
		}
		if !slices.ContainsFunc(protocol.Capabilities, func(c protocol.Capability) bool { return !d.Can(c) }) == (len(d.Cannot) > 0) {
			t.Errorf("%s cannot %v", name, d.Cannot)
		}
		if d.TestCards[protocol.CardApproved] == "" {
			t.Errorf("%s has no card that is approved", name)
		}
	}
	if _, err := b.client.Declaration(context.Background(), "NOBODY"); err == nil {
		t.Error("a processor that is not there declares itself")
	}
}
