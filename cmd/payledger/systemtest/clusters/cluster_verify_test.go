//go:build system

package clusters

import (
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
)

// TestClusterVerify: verify checks the log of a cluster while two nodes serve it: at a node with
// its tip store and views, and through the NATS servers, also after all nodes have stopped. A flag
// that names the folder wins over the variable that names the cluster (I1).
func TestClusterVerify(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	c := clustertest.Start(t, 3, nil).Formed(t)
	r := &nodesRig{c: c, url: c.URL(clustertest.User)}
	r.made = apptest.InitCluster(t, r.url, "--shards", "3")
	t.Setenv("PAYLEDGER_MASTER_KEY", r.made.MasterKey)
	t.Setenv("PAYLEDGER_NATS_URL", r.url)
	a := r.start(t, "127.0.0.1:0")
	r.sim = a.Sim.URL
	b := r.start(t, "127.0.0.1:0")
	m := r.at(a)
	erased, stays := m.PayAs(t, apptest.HerCustomer), m.PayAs(t, "")
	if status, _, stderr := apptest.Invoke(t, "erase-customer", "--data", a.Options.Data, apptest.HerCustomer); status != 0 {
		t.Fatal(stderr)
	}
	whole := func(name string, views bool, args ...string) {
		t.Helper()
		status, out, stderr := apptest.Invoke(t, append([]string{"verify"}, args...)...)
		if status != 0 || stderr != "" || !strings.HasPrefix(out, "the log is whole: ") || strings.Contains(out, ", the tip store, the views") != views {
			t.Errorf("%s: verify exits %d: %s%s", name, status, out, stderr)
		}
		if strings.Contains(out, "signatures of checkpoints were not checked") {
			t.Errorf("%s: %s", name, out)
		}
	}
	whole("at a node", true, "--data", b.Options.Data)
	whole("through the servers", false)
	for _, id := range []string{erased, stays} {
		if status, out, stderr := apptest.Invoke(t, "verify", "--payment", id); status != 0 || !strings.Contains(out, id+" is whole") {
			t.Errorf("verify of a payment exits %d: %s%s", status, out, stderr)
		}
	}
	if status, out, stderr := apptest.Invoke(t, "verify", "--data", t.TempDir()); status != 1 || !strings.Contains(stderr, "holds no ledger and no back-up") {
		t.Errorf("verify of an empty folder exits %d: %s%s", status, out, stderr)
	}
	for _, args := range [][]string{{"--nats-url", "nats://127.0.0.1:1", "--data", "x"}, {"--nats-cert", "x"}} {
		if status, out, stderr := apptest.Invoke(t, append([]string{"verify"}, args...)...); status != 2 {
			t.Errorf("verify %v exits %d: %s%s", args, status, out, stderr)
		}
	}
	t.Setenv("PAYLEDGER_MASTER_KEY", strings.Repeat("ab", 32))
	if status, out, stderr := apptest.Invoke(t, "verify"); status != 1 || !strings.Contains(stderr, "the master key is not the one of this ledger") {
		t.Errorf("verify with another key exits %d: %s%s", status, out, stderr)
	}
	t.Setenv("PAYLEDGER_MASTER_KEY", r.made.MasterKey)
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
	if err := b.Stop(); err != nil {
		t.Error(err)
	}
	whole("without nodes", false)
}
