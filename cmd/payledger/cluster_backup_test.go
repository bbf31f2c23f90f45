package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/ledger"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
)

// load makes payments at nodes until the returned function is called, which returns their ids.
func (r *nodesRig) load(t *testing.T, nodes ...*App) (count func() int, end func() []string) {
	t.Helper()
	var mu sync.Mutex
	var ids []string
	var ended atomic.Bool
	var running sync.WaitGroup
	for w, node := range nodes {
		running.Go(func() {
			m := r.at(node)
			for i := 0; !ended.Load(); i++ {
				if id := m.tryPay(t, fmt.Sprintf("load-%d-%d", w, i)); id != "" {
					mu.Lock()
					ids = append(ids, id)
					mu.Unlock()
				}
			}
		})
	}
	count = func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(ids)
	}
	return count, func() []string {
		ended.Store(true)
		running.Wait()
		return ids
	}
}

// TestClusterBackup: back-ups of a cluster while two nodes serve, with a customer who is erased between them. The last one is restored
// into a folder and into a new cluster. Nodes of the new cluster answer as those of the old one did, and go on with its payments. Older keys, and
// a cluster with a ledger, are refused (I1).
func TestClusterBackup(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	c := clustertest.Start(t, 3, nil).Formed(t)
	r := &nodesRig{c: c, url: c.URL(clustertest.User)}
	r.made = initCluster(t, r.url, "--shards", "3")
	t.Setenv("PAYLEDGER_MASTER_KEY", r.made.MasterKey)
	t.Setenv("PAYLEDGER_NATS_URL", r.url)
	a := r.start(t, "127.0.0.1:0")
	r.sim = a.sim.URL
	b := r.start(t, "127.0.0.1:0")
	m := r.at(a)
	erased, stays := m.payAs(t, herCustomer), m.payAs(t, "")
	count, end := r.load(t, a, b)
	until(t, 2*time.Minute, "some payments", func() (bool, string) { return count() >= 10, fmt.Sprint(count()) })
	f := newBackupFolders(t)
	backUp := func() string {
		t.Helper()
		status, out, stderr := invoke(t, "backup", "--out", f.out, "--keys-out", f.keys)
		if status != 0 || stderr != "" || !strings.HasPrefix(out, "run ") {
			t.Fatalf("backup exits %d: %s%s", status, out, stderr)
		}
		return out
	}
	t.Log(backUp())
	n := count()
	until(t, 2*time.Minute, "more payments", func() (bool, string) { return count() >= n+5, fmt.Sprint(count()) })
	if status, _, stderr := invoke(t, "erase-customer", "--data", a.options.Data, herCustomer); status != 0 {
		t.Fatal(stderr)
	}
	oldKeys := f.keys + "-old"
	if err := os.CopyFS(oldKeys, os.DirFS(f.keys)); err != nil {
		t.Fatal(err)
	}
	t.Log(backUp())
	r.restoredFolder(t, f) // of a moment under load
	ids := append(end(), erased, stays)
	wanted := map[string]string{}
	for _, id := range ids {
		until(t, time.Minute, "the positions of all events", func() (bool, string) {
			got := m.answers(t, []string{id})
			history := got["/payments/"+id+"/events"]
			maps.Copy(wanted, got)
			return strings.Count(history, `"position":`) == strings.Count(history, `"previousHash":`), history
		})
	}
	t.Log(backUp())
	for _, node := range []*App{b, a} {
		if err := node.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	restore := func(keys string) (int, string, string) {
		return invoke(t, "restore", "--from", f.out, "--keys", keys)
	}
	if status, out, stderr := restore(f.keys); status != 1 || out != "" || !strings.Contains(stderr, "this one holds a ledger") {
		t.Errorf("restore to a cluster with a ledger exits %d: %s%s", status, out, stderr)
	}
	other := clustertest.Start(t, 3, nil).Formed(t)
	r.url = other.URL(clustertest.User)
	t.Setenv("PAYLEDGER_NATS_URL", r.url)
	if status, out, stderr := restore(oldKeys); status != 1 || out != "" || !strings.Contains(stderr, "the keys in "+oldKeys+" are of run 1") {
		t.Errorf("restore with old keys exits %d: %s%s", status, out, stderr)
	}
	status, out, stderr := restore(f.keys)
	if status != 0 || stderr != "" || !strings.Contains(out, "\nthe log is whole: ") {
		t.Fatalf("restore exits %d: %s%s", status, out, stderr)
	}
	t.Log(out)
	r.goesOn(t, a.options.Data, ids, wanted, erased)
}

// restoredFolder restores the back-up into a folder.
func (r *nodesRig) restoredFolder(t *testing.T, f backupFolders) {
	t.Helper()
	t.Setenv("PAYLEDGER_NATS_URL", "")
	if status, out, stderr := invoke(t, "restore", "--from", f.out, "--keys", f.keys, "--data", f.restored); status != 0 || !strings.Contains(out, "\nthe log is whole: ") {
		t.Fatalf("restore of a cluster into a folder exits %d: %s%s", status, out, stderr)
	}
	t.Setenv("PAYLEDGER_NATS_URL", r.url)
}

// goesOn starts two nodes on the restored cluster, with the books of the processors of an old node. They answer as before, capture and refund an
// old payment, and make a new one. A back-up of them is complete.
func (r *nodesRig) goesOn(t *testing.T, old string, ids []string, wanted map[string]string, erased string) {
	t.Helper()
	o := testOptions(t.TempDir())
	if err := os.CopyFS(filepath.Join(o.Data, ledger.SimulatorFolder), os.DirFS(filepath.Join(old, ledger.SimulatorFolder))); err != nil {
		t.Fatal(err)
	}
	o.NatsURL, o.MasterKey = r.url, r.made.MasterKey
	first, err := Start(t.Context(), o, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	r.sim = first.sim.URL
	second := r.start(t, "127.0.0.1:0")
	for _, node := range []*App{first, second} {
		got := r.at(node).answers(t, ids)
		for path, want := range wanted {
			if got[path] != want {
				t.Errorf("%s was %.3000s\nand is %.3000s", path, want, got[path])
			}
			if strings.Contains(path, erased) && len(shown(got[path])) > 0 {
				t.Errorf("%s shows %v", path, shown(got[path]))
			}
		}
	}
	m := r.at(second)
	m.must(t, "POST", "/payments/"+ids[0]+"/capture", m.headers(), map[string]any{"amount": 700})
	m.must(t, "POST", "/payments/"+ids[0]+"/refund", m.headers(), map[string]any{"amount": 300})
	r.pay(t, first)
	f := newBackupFolders(t)
	if status, out, stderr := invoke(t, "backup", "--out", f.out, "--keys-out", f.keys); status != 0 {
		t.Errorf("backup of the restored cluster exits %d: %s%s", status, out, stderr)
	}
	for _, node := range []*App{second, first} {
		if err := node.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestClusterRestoreKilled: kill -9 ends a back-up of a cluster, and a restore into a cluster after it made some of the streams. No node
// serves the incomplete ledger, init refuses it, and the next run completes it. The first back-up is of a data folder.
func TestClusterRestoreKilled(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	f := newBackupFolders(t)
	if status, _, stderr := invoke(t, "init", "--data", f.data, "--shards", "2"); status != 0 {
		t.Fatal(stderr)
	}
	f.backUp(t)
	c := clustertest.Start(t, 3, nil).Formed(t)
	url, js := c.URL(clustertest.User), streamsOf(t, c, clustertest.User)
	key, err := os.ReadFile(filepath.Join(f.data, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	master := strings.TrimSpace(string(key))
	env := []string{"PAYLEDGER_NATS_URL=" + url, "PAYLEDGER_MASTER_KEY=" + master}
	serving := &cutRig{c: c, url: url}
	unserved := func() {
		t.Helper()
		app, err := serving.start(t, master)
		if err == nil {
			err = app.Stop()
			t.Fatalf("a node serves a restore that was cut short (%v)", err)
		}
		if len(streamNames(t, js)) == 0 {
			return
		}
		for _, err := range []string{err.Error(), refusedInit(t, url)} {
			if !strings.Contains(err, "restore") {
				t.Errorf("after a restore that was cut short: %s", err)
			}
		}
	}
	for _, made := range []int{1, 2, 3} { // of six streams
		killedWhen(t, func() bool { return len(streamNames(t, js)) >= made }, env, "restore", "--from", f.out, "--keys", f.keys)
		unserved()
	}
	t.Setenv("PAYLEDGER_NATS_URL", url)
	t.Setenv("PAYLEDGER_MASTER_KEY", master)
	if status, out, stderr := invoke(t, "restore", "--from", f.out, "--keys", f.keys); status != 0 {
		t.Fatalf("restore exits %d: %s%s", status, out, stderr)
	}
	app, err := serving.start(t, master)
	if err != nil {
		t.Fatal(err)
	}
	of := newBackupFolders(t)
	for _, file := range []string{"*.messages*", "*.manifest.part"} {
		killedWhen(t, there(filepath.Join(of.out, file)), env, "backup", "--out", of.out, "--keys-out", of.keys)
	}
	if status, out, stderr := invoke(t, "backup", "--out", of.out, "--keys-out", of.keys); status != 0 {
		t.Errorf("backup exits %d: %s%s", status, out, stderr)
	}
	if err := app.Stop(); err != nil {
		t.Error(err)
	}
}

func refusedInit(t *testing.T, url string) string {
	t.Helper()
	status, _, stderr := runInit(t, url)
	if status != exitFailure {
		t.Errorf("init exits %d: %s", status, stderr)
	}
	return stderr
}
