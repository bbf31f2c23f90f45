//go:build system

package clusters

import (
	"maps"
	"net/http"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/nodes"
)

// ends returns the last sequence of each stream of a ledger, without the records of the nodes, and
// the sequence of those.
func ends(t *testing.T, js jetstream.JetStream) (streams map[string]uint64, beats uint64) {
	t.Helper()
	streams = map[string]uint64{}
	list := js.ListStreams(t.Context())
	for info := range list.Info() {
		streams[info.Config.Name] = info.State.LastSeq
	}
	if err := list.Err(); err != nil {
		t.Log(err) // an election
		return nil, 0
	}
	beats = streams[nodes.Stream]
	delete(streams, nodes.Stream)
	return streams, beats
}

// TestIdleCluster: an idle cluster writes the records of its nodes and nothing else, also while
// lists are read.
func TestIdleCluster(t *testing.T) {
	c := clustertest.Start(t, 3, nil).Formed(t)
	url := c.URL(clustertest.User)
	made := apptest.InitCluster(t, url)
	t.Setenv("PAYLEDGER_NATS_URL", url)
	t.Setenv("PAYLEDGER_MASTER_KEY", made.MasterKey)
	a := apptest.ServeProcess(t, "--data", t.TempDir())
	b := apptest.ServeProcess(t, "--data", t.TempDir(), "--processor-url", a.Ready.Simulator)
	merchants := []*apptest.Merchant{apptest.NewMerchant(a.Ready.API, made.APIKey), apptest.NewMerchant(b.Ready.API, made.APIKey)}
	answer, err := merchants[0].Pay(merchants[0].Token(t, "order-1", 2000, "4111111111111111"), "key-1")
	if err != nil || answer.Status != http.StatusOK {
		t.Fatalf("pay: %d %s %v", answer.Status, answer.Body, err)
	}
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	const quiet = 20 // beats of two nodes: ten seconds
	before, since := ends(t, js)
	apptest.Eventually(t, func() bool {
		for _, m := range merchants {
			if answer, err := m.Call("GET", "/payments", m.Headers(), nil); err != nil || answer.Status != http.StatusOK {
				t.Errorf("a list: %d %s %v", answer.Status, answer.Body, err)
			}
		}
		now, beats := ends(t, js)
		if !maps.Equal(before, now) {
			before, since = now, beats
		}
		return beats >= since+quiet
	})
	b.Stop()
	a.Stop()
}
