//go:build system

package clusters

import (
	"encoding/json"
	"testing"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
)

// TestClusterListener: one node makes a listener, another one streams it, both send to it, and
// either takes the answers.
func TestClusterListener(t *testing.T) {
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
	var made struct{ ID string }
	nodes[0].Must(t, "POST", "/management/webhook-listeners", nodes[0].Headers(), map[string]any{"eventTypes": []string{"PAYMENT.STATUS"}}).Decode(t, &made)
	base := "/management/webhook-listeners/" + made.ID
	stream := nodes[1].Stream(t, base+"/stream")
	stream.Message(t, "ready")
	want := map[string]bool{}
	const payments = 12
	for n := range payments {
		want[apptest.Buys(t, nodes[n%2], "order").ID] = true
	}
	for n := range payments {
		var w struct{ ID, PaymentID string }
		if err := json.Unmarshal(stream.Message(t, "webhook"), &w); err != nil || !want[w.PaymentID] {
			t.Fatalf("%+v %v", w, err)
		}
		delete(want, w.PaymentID)
		m := nodes[n/2%2]
		m.Must(t, "POST", base+"/answers", m.Headers(), map[string]any{"id": w.ID, "status": 200})
	}
	moved := nodes[0].Stream(t, base+"/stream")
	moved.Message(t, "ready")
	if _, err := stream.Lines.ReadString(0); err == nil {
		t.Error("the stream of the first node goes on")
	}
	p := apptest.Buys(t, nodes[1], "order")
	var w struct{ ID, PaymentID string }
	if err := json.Unmarshal(moved.Message(t, "webhook"), &w); err != nil || w.PaymentID != p.ID {
		t.Errorf("at the other node: %+v %v", w, err)
	}
	nodes[1].Must(t, "DELETE", base, nodes[1].Headers(), nil)
	if _, err := moved.Lines.ReadString(0); err == nil {
		t.Error("the stream of a deleted listener goes on")
	}
	for _, node := range []*app.App{b, a} {
		if err := node.Stop(); err != nil {
			t.Error(err)
		}
	}
}
