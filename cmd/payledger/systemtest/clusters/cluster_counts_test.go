//go:build system

package clusters

import (
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
)

// TestClusterCounts: each node has the counts of the requests that all nodes answered, and the list
// of these requests.
func TestClusterCounts(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	c := clustertest.Start(t, 3, nil).Formed(t)
	r := &nodesRig{c: c, url: c.URL(clustertest.User)}
	r.made = apptest.InitCluster(t, r.url, "--shards", "2")
	a := r.start(t, apptest.FreeAddress(t))
	r.sim = a.Sim.URL
	b := r.start(t, apptest.FreeAddress(t))
	nodes := []*apptest.Merchant{apptest.NewMerchant(a.API.URL, r.made.Credentials.APIKey), apptest.NewMerchant(b.API.URL, r.made.Credentials.APIKey)}
	type counts struct {
		Requests struct{ Requests, ClientErrors, Nodes, SilentNodes int }
	}
	var before, after counts
	for _, m := range []*apptest.Merchant{nodes[1], nodes[0]} {
		apptest.Eventually(t, func() bool { // each has seen that the other one serves
			m.Must(t, "GET", "/management/statistics", m.Headers(), nil).Decode(t, &before)
			return before.Requests.Nodes == 2
		})
	}
	for n := range 5 {
		m := nodes[n%2]
		if _, err := m.Call("GET", "/payments/unknown", m.Headers(), nil); err != nil {
			t.Fatal(err)
		}
	}
	for n, m := range nodes {
		m.Must(t, "GET", "/management/statistics", m.Headers(), nil).Decode(t, &after)
		got, was := after.Requests, before.Requests
		if got.Nodes != 2 || got.SilentNodes != 0 || got.ClientErrors-was.ClientErrors != 5 || got.Requests-was.Requests != 6+n {
			t.Errorf("node %d has %+v, before %+v", n, got, was)
		}
	}
	for n, m := range nodes {
		var list struct {
			Data               []struct{ Path string }
			Nodes, SilentNodes int
		}
		m.Must(t, "GET", "/management/request-log?status=4xx&path=/payments&limit=5", m.Headers(), nil).Decode(t, &list)
		if len(list.Data) != 5 || list.Nodes != 2 || list.SilentNodes != 0 {
			t.Errorf("node %d lists %+v", n, list)
		}
	}
}
