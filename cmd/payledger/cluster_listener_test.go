package main

import (
	"encoding/json"
	"testing"

	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
)

// TestClusterListener: one node makes a listener, another one streams it, both send to it, and either takes the answers.
func TestClusterListener(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	c := clustertest.Start(t, 3, nil).Formed(t)
	r := &nodesRig{c: c, url: c.URL(clustertest.User)}
	r.made = initCluster(t, r.url, "--shards", "2")
	a := r.start(t, freeAddress(t))
	r.sim = a.sim.URL
	b := r.start(t, freeAddress(t))
	nodes := []*merchant{newMerchant(a.api.URL, r.made.Credentials.APIKey), newMerchant(b.api.URL, r.made.Credentials.APIKey)}
	var made struct{ ID string }
	nodes[0].must(t, "POST", "/management/webhook-listeners", nodes[0].headers(), map[string]any{"eventTypes": []string{"PAYMENT.STATUS"}}).decode(t, &made)
	base := "/management/webhook-listeners/" + made.ID
	stream := nodes[1].stream(t, base+"/stream")
	stream.message(t, "ready")
	want := map[string]bool{}
	const payments = 12
	for n := range payments {
		want[buys(t, nodes[n%2], "order").ID] = true
	}
	for n := range payments {
		var w struct{ ID, PaymentID string }
		if err := json.Unmarshal(stream.message(t, "webhook"), &w); err != nil || !want[w.PaymentID] {
			t.Fatalf("%+v %v", w, err)
		}
		delete(want, w.PaymentID)
		m := nodes[n/2%2]
		m.must(t, "POST", base+"/answers", m.headers(), map[string]any{"id": w.ID, "status": 200})
	}
	moved := nodes[0].stream(t, base+"/stream")
	moved.message(t, "ready")
	if _, err := stream.lines.ReadString(0); err == nil {
		t.Error("the stream of the first node goes on")
	}
	p := buys(t, nodes[1], "order")
	var w struct{ ID, PaymentID string }
	if err := json.Unmarshal(moved.message(t, "webhook"), &w); err != nil || w.PaymentID != p.ID {
		t.Errorf("at the other node: %+v %v", w, err)
	}
	nodes[1].must(t, "DELETE", base, nodes[1].headers(), nil)
	if _, err := moved.lines.ReadString(0); err == nil {
		t.Error("the stream of a deleted listener goes on")
	}
	for _, node := range []*App{b, a} {
		if err := node.Stop(); err != nil {
			t.Error(err)
		}
	}
}
