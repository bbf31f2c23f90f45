//go:build system

package clusters

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"payledger/cmd/payledger/apptest"
	"payledger/domain"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/nodes"
)

// TestChangesAfterKill: a process records a revocation and an erasure, and kill -9 ends it while it
// waits for a node that is cut off. The caller repeats both at another node. The repeats wait for
// the node that is cut off, too. Each change is in the log once.
func TestChangesAfterKill(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newNodeRig(t)
	t.Setenv("PAYLEDGER_MASTER_KEY", r.made.MasterKey)
	killed := apptest.ServeProcess(t, "--data", t.TempDir(), "--nats-url", r.c.URL(clustertest.User), "--processor-url", r.a.Sim.URL)
	atKilled := apptest.NewMerchant(killed.Ready.API, r.made.APIKey)
	id, withKey := r.newKey(t)
	withKey.Must(t, "GET", "/payments", withKey.Headers(), nil)
	shown := r.customer(t, "c-1")
	if !strings.Contains(shown(), "c-1@example.com") {
		t.Fatal("node b does not show the customer")
	}
	calls := []func(*apptest.Merchant) (apptest.Answer, error){
		func(m *apptest.Merchant) (apptest.Answer, error) {
			return m.Call("DELETE", "/management/api-keys/"+id, m.Headers(), nil)
		},
		func(m *apptest.Merchant) (apptest.Answer, error) {
			return m.Call("POST", "/management/customers/c-1/erase", m.Headers(), nil)
		},
	}
	r.wire.cut(true)
	var first sync.WaitGroup
	for _, call := range calls {
		first.Go(func() {
			if a, err := call(atKilled); err == nil && r.b.Nodes.Valid() == nil {
				t.Errorf("the first call did not wait for node b: %d %s", a.Status, a.Body)
			}
		})
	}
	apptest.Eventually(t, func() bool {
		_, known := r.a.Views.APIKey(domain.APIKeyID(id))
		return !known
	})
	r.atA.KeyDestroyed(t, 1) // all events are in the log
	killed.Kill()
	first.Wait()

	waiting := r.hurries(t)
	repeats := make([]apptest.Answer, len(calls))
	var again sync.WaitGroup
	for i, call := range calls {
		again.Go(func() {
			var err error
			repeats[i], err = call(r.atA)
			for err == nil && repeats[i].Status == http.StatusServiceUnavailable && t.Context().Err() == nil { // its clock jumps, too: it must renew its lease
				repeats[i], err = call(r.atA)
			}
			if err != nil || r.b.Nodes.Valid() == nil {
				t.Errorf("repeat %d did not wait for node b: %d %s %v", i, repeats[i].Status, repeats[i].Body, err)
			}
		})
	}
	for range 4 { // node a repeats its request to the other nodes each second
		<-waiting
	}
	r.skew[1].Add(int64(nodes.DefaultLease))
	r.skew[0].Add(int64(nodes.DefaultSilence))
	again.Wait()
	if repeats[0].Status != http.StatusNotFound || repeats[1].Status != http.StatusOK {
		t.Errorf("the repeats: %d %s, %d %s", repeats[0].Status, repeats[0].Body, repeats[1].Status, repeats[1].Body)
	}
	r.wire.cut(false)
	apptest.Eventually(t, func() bool { return r.a.Nodes.Valid() == nil && r.b.Nodes.Valid() == nil }) // the clocks jumped, so both renew their leases
	if a, err := withKey.Call("GET", "/payments", withKey.Headers(), nil); err != nil || a.Status != http.StatusUnauthorized {
		t.Errorf("with the revoked key: %d %s %v", a.Status, a.Body, err)
	}
	if text := shown(); strings.Contains(text, "@example.com") {
		t.Errorf("after the erasure: %s", text)
	}
	for _, kind := range []string{"account.api_key_revoked", "person.erased", "person.key_destroyed"} {
		all := string(r.atA.Must(t, "GET", "/events?limit=1000&types="+kind, r.atA.Headers(), nil).Body)
		if n := strings.Count(all, `"type":"`+kind+`"`); n != 1 {
			t.Errorf("%d events %s: %s", n, kind, all)
		}
	}
}

// customer opens a client session of a customer at node a. The function returns the session as node
// b shows it.
func (r *nodeRig) customer(t *testing.T, id string) func() string {
	t.Helper()
	var opened struct {
		ClientToken string `json:"clientToken"`
	}
	r.atA.Must(t, "POST", "/client-session", r.atA.Headers(), map[string]any{
		"orderId": "order-" + id, "currencyCode": "EUR", "amount": 1000, "customerId": id, "customer": map[string]any{"emailAddress": id + "@example.com"},
	}).Decode(t, &opened)
	return func() string {
		return string(r.atB.Must(t, "GET", "/client-session?clientToken="+opened.ClientToken, r.atB.Headers(), nil).Body)
	}
}

// hurries returns a channel with a value for each request to the other nodes to report a position.
func (r *nodeRig) hurries(t *testing.T) <-chan *nats.Msg {
	t.Helper()
	nc, err := nats.Connect(r.c.URL(clustertest.User))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	all := make(chan *nats.Msg, 1024)
	if _, err := nc.ChanSubscribe("payledger.hurry", all); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return all
}
