package eventstoretest

import (
	"math"

	"payledger/eventstore/format"
)

// Nodes are the nodes of a cluster that a test names: engine.Nodes. They read everything, and the
// node has a lease.
type Nodes struct{ Serving, Guests []string }

// Mark implements engine.Nodes.
func (Nodes) Mark(command string) string { return command }

// Valid implements engine.Nodes.
func (Nodes) Valid() error { return nil }

// Reads implements engine.Nodes.
func (Nodes) Reads(string) int { return math.MaxInt }

// ReadsHeader implements engine.Nodes.
func (Nodes) ReadsHeader() int { return format.HeaderLevel }

// Sharing implements engine.Nodes.
func (n Nodes) Sharing() (serving, guests []string) { return n.Serving, n.Guests }
