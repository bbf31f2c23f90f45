package options_test

import (
	"strings"
	"testing"

	"payledger/cmd/payledger/options"
	"payledger/eventstore/nodes"
)

// TestRole: a role is for a node of a cluster, and without one it is refused with one fault.
func TestRole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role    nodes.Role
		nats    string
		refused bool
	}{
		{"", "", false}, {nodes.RoleAll, "", false}, {nodes.RoleAPI, "", true}, {nodes.RoleViews, "", true},
		{nodes.RoleAll, "nats://n1", false}, {nodes.RoleAPI, "nats://n1", false}, {nodes.RoleViews, "nats://n1", false},
	} {
		o := options.Options{Role: c.role}
		o.NatsURL = c.nats
		n := 0
		for _, fault := range o.Faults() {
			if strings.HasPrefix(fault, "--role "+string(c.role)+" is for a node of a cluster, with --nats-url") {
				n++
			}
		}
		if refused := n > 0; refused != c.refused || n > 1 {
			t.Errorf("--role %q with --nats-url %q: %q", c.role, c.nats, o.Faults())
		}
	}
}
