//go:build system

package clusters

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
)

// TestClusterInitCutShort cuts an init short after each of its changes. No service starts on the
// rest, and the next init, with another master key, completes it.
func TestClusterInitCutShort(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	c := clustertest.Start(t, 3, func(_ int, o *server.Options) { o.Cluster.NoAdvertise = true }).Formed(t)
	js := apptest.StreamsOf(t, c, clustertest.User)
	r := &apptest.CutRig{C: c, URL: c.URL(clustertest.User)}
	for after, ended := 1, false; !ended; after++ {
		var made *ledger.Made
		made, ended = r.Cut(t, after)
		if made == nil || !r.Claimed(t, made.MasterKey) {
			made = r.Complete(t, after)
		}
		r.Serves(t, made)
		for _, name := range apptest.StreamNames(t, js) {
			if err := js.DeleteStream(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		if ended && after < 10 {
			t.Fatalf("an init made %d changes only", after-1)
		}
	}
}
