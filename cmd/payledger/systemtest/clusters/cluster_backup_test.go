//go:build system

package clusters

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

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
	"payledger/cmd/payledger/ledger"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
)

// load makes payments at nodes until the returned function is called, which returns their ids.
func (r *nodesRig) load(t *testing.T, nodes ...*app.App) (count func() int, end func() []string) {
	t.Helper()
	var mu sync.Mutex
	var ids []string
	var ended atomic.Bool
	var running sync.WaitGroup
	for w, node := range nodes {
		running.Go(func() {
			m := r.at(node)
			for i := 0; !ended.Load(); i++ {
				if id := m.TryPay(t, fmt.Sprintf("load-%d-%d", w, i)); id != "" {
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

// TestClusterBackup: back-ups of a cluster while two nodes serve, with a customer who is erased
// between them. The last one is restored into a folder and into a new cluster. Nodes of the new
// cluster answer as those of the old one did, and go on with its payments. Older keys, and a
// cluster with a ledger, are refused (I1).
func TestClusterBackup(t *testing.T) {
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
	count, end := r.load(t, a, b)
	apptest.Until(t, 2*time.Minute, "some payments", func() (bool, string) { return count() >= 10, fmt.Sprint(count()) })
	f := apptest.NewBackupFolders(t)
	backUp := func() string {
		t.Helper()
		status, out, stderr := apptest.Invoke(t, "backup", "--out", f.Out, "--keys-out", f.Keys)
		if status != 0 || stderr != "" || !strings.HasPrefix(out, "run ") {
			t.Fatalf("backup exits %d: %s%s", status, out, stderr)
		}
		return out
	}
	t.Log(backUp())
	n := count()
	apptest.Until(t, 2*time.Minute, "more payments", func() (bool, string) { return count() >= n+5, fmt.Sprint(count()) })
	if status, _, stderr := apptest.Invoke(t, "erase-customer", "--data", a.Options.Data, apptest.HerCustomer); status != 0 {
		t.Fatal(stderr)
	}
	oldKeys := f.Keys + "-old"
	if err := os.CopyFS(oldKeys, os.DirFS(f.Keys)); err != nil {
		t.Fatal(err)
	}
	t.Log(backUp())
	r.restoredFolder(t, f) // of a moment under load
	ids := append(end(), erased, stays)
	wanted := map[string]string{}
	for _, id := range ids {
		apptest.Until(t, time.Minute, "the positions of all events", func() (bool, string) {
			got := m.Answers(t, []string{id})
			history := got["/payments/"+id+"/events"]
			maps.Copy(wanted, got)
			return strings.Count(history, `"position":`) == strings.Count(history, `"previousHash":`), history
		})
	}
	t.Log(backUp())
	for _, node := range []*app.App{b, a} {
		if err := node.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	restore := func(keys string) (int, string, string) {
		return apptest.Invoke(t, "restore", "--from", f.Out, "--keys", keys)
	}
	if status, out, stderr := restore(f.Keys); status != 1 || out != "" || !strings.Contains(stderr, "this one holds a ledger") {
		t.Errorf("restore to a cluster with a ledger exits %d: %s%s", status, out, stderr)
	}
	other := clustertest.Start(t, 3, nil).Formed(t)
	r.url = other.URL(clustertest.User)
	t.Setenv("PAYLEDGER_NATS_URL", r.url)
	if status, out, stderr := restore(oldKeys); status != 1 || out != "" || !strings.Contains(stderr, "the keys in "+oldKeys+" are of run 1") {
		t.Errorf("restore with old keys exits %d: %s%s", status, out, stderr)
	}
	status, out, stderr := restore(f.Keys)
	for range 3 { // on a busy machine the leader can change, and the new leader refuses what the old leader was sent
		if !strings.Contains(stderr, "err_code=10071") || !strings.Contains(stderr, "repeat the command to begin again") {
			break
		}
		t.Log(stderr)
		status, out, stderr = restore(f.Keys)
	}
	if status != 0 || stderr != "" || !strings.Contains(out, "\nthe log is whole: ") {
		t.Fatalf("restore exits %d: %s%s", status, out, stderr)
	}
	t.Log(out)
	r.goesOn(t, a.Options.Data, ids, wanted, erased)
}

// restoredFolder restores the back-up into a folder.
func (r *nodesRig) restoredFolder(t *testing.T, f apptest.BackupFolders) {
	t.Helper()
	t.Setenv("PAYLEDGER_NATS_URL", "")
	if status, out, stderr := apptest.Invoke(t, "restore", "--from", f.Out, "--keys", f.Keys, "--data", f.Restored); status != 0 || !strings.Contains(out, "\nthe log is whole: ") {
		t.Fatalf("restore of a cluster into a folder exits %d: %s%s", status, out, stderr)
	}
	t.Setenv("PAYLEDGER_NATS_URL", r.url)
}

// goesOn starts two nodes on the restored cluster, with the books of the processors of an old node.
// They answer as before, capture and refund an old payment, and make a new one. A back-up of them
// is complete.
func (r *nodesRig) goesOn(t *testing.T, old string, ids []string, wanted map[string]string, erased string) {
	t.Helper()
	o := apptest.TestOptions(t.TempDir())
	if err := os.CopyFS(filepath.Join(o.Data, ledger.SimulatorFolder), os.DirFS(filepath.Join(old, ledger.SimulatorFolder))); err != nil {
		t.Fatal(err)
	}
	o.NatsURL, o.MasterKey = r.url, r.made.MasterKey
	first, err := app.Start(t.Context(), o, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	r.sim = first.Sim.URL
	second := r.start(t, "127.0.0.1:0")
	for _, node := range []*app.App{first, second} {
		got := r.at(node).Answers(t, ids)
		for path, want := range wanted {
			if got[path] != want {
				t.Errorf("%s was %.3000s\nand is %.3000s", path, want, got[path])
			}
			if strings.Contains(path, erased) && len(apptest.Shown(got[path])) > 0 {
				t.Errorf("%s shows %v", path, apptest.Shown(got[path]))
			}
		}
	}
	m := r.at(second)
	m.Must(t, "POST", "/payments/"+ids[0]+"/capture", m.Headers(), map[string]any{"amount": 700})
	m.Must(t, "POST", "/payments/"+ids[0]+"/refund", m.Headers(), map[string]any{"amount": 300})
	r.pay(t, first)
	f := apptest.NewBackupFolders(t)
	if status, out, stderr := apptest.Invoke(t, "backup", "--out", f.Out, "--keys-out", f.Keys); status != 0 {
		t.Errorf("backup of the restored cluster exits %d: %s%s", status, out, stderr)
	}
	for _, node := range []*app.App{second, first} {
		if err := node.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestClusterRestoreKilled: kill -9 ends a back-up of a cluster, and a restore into a cluster after
// it made some of the streams. No node serves the incomplete ledger, init refuses it, and the next
// run completes it. The first back-up is of a data folder.
func TestClusterRestoreKilled(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	f := apptest.NewBackupFolders(t)
	if status, _, stderr := apptest.Invoke(t, "init", "--data", f.Data, "--shards", "2"); status != 0 {
		t.Fatal(stderr)
	}
	f.BackUp(t)
	c := clustertest.Start(t, 3, nil).Formed(t)
	url, js := c.URL(clustertest.User), apptest.StreamsOf(t, c, clustertest.User)
	key, err := os.ReadFile(filepath.Join(f.Data, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	master := strings.TrimSpace(string(key))
	env := []string{"PAYLEDGER_NATS_URL=" + url, "PAYLEDGER_MASTER_KEY=" + master}
	serving := &apptest.CutRig{C: c, URL: url}
	unserved := func() {
		t.Helper()
		app, err := serving.Start(t, master)
		if err == nil {
			err = app.Stop()
			t.Fatalf("a node serves a restore that was cut short (%v)", err)
		}
		if len(apptest.StreamNames(t, js)) == 0 {
			return
		}
		for _, err := range []string{err.Error(), refusedInit(t, url)} {
			if !strings.Contains(err, "restore") {
				t.Errorf("after a restore that was cut short: %s", err)
			}
		}
	}
	for _, made := range []int{1, 2, 3} { // of six streams
		apptest.KilledWhen(t, func() bool { return len(apptest.StreamNames(t, js)) >= made }, env, "restore", "--from", f.Out, "--keys", f.Keys)
		unserved()
	}
	t.Setenv("PAYLEDGER_NATS_URL", url)
	t.Setenv("PAYLEDGER_MASTER_KEY", master)
	if status, out, stderr := apptest.Invoke(t, "restore", "--from", f.Out, "--keys", f.Keys); status != 0 {
		t.Fatalf("restore exits %d: %s%s", status, out, stderr)
	}
	app, err := serving.Start(t, master)
	if err != nil {
		t.Fatal(err)
	}
	of := apptest.NewBackupFolders(t)
	for _, file := range []string{"*.messages*", "*.manifest.part"} {
		apptest.KilledWhen(t, apptest.There(filepath.Join(of.Out, file)), env, "backup", "--out", of.Out, "--keys-out", of.Keys)
	}
	if status, out, stderr := apptest.Invoke(t, "backup", "--out", of.Out, "--keys-out", of.Keys); status != 0 {
		t.Errorf("backup exits %d: %s%s", status, out, stderr)
	}
	if err := app.Stop(); err != nil {
		t.Error(err)
	}
}

func refusedInit(t *testing.T, url string) string {
	t.Helper()
	status, _, stderr := apptest.RunInit(t, url)
	if status != command.ExitFailure {
		t.Errorf("init exits %d: %s", status, stderr)
	}
	return stderr
}
