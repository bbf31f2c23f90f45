package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/eventstore/eventstoretest"
)

// backupFolders are the folders of a test's back-up.
type backupFolders struct{ data, out, keys, restored string }

func newBackupFolders(t *testing.T) backupFolders {
	t.Helper()
	dir := t.TempDir()
	return backupFolders{filepath.Join(dir, "data"), filepath.Join(dir, "out"), filepath.Join(dir, "keys"), filepath.Join(dir, "restored")}
}

// backUp runs backup, which must succeed, and returns its sentence.
func (f backupFolders) backUp(t *testing.T) string {
	t.Helper()
	status, out, stderr := invoke(t, "backup", "--data", f.data, "--out", f.out, "--keys-out", f.keys)
	if status != 0 || stderr != "" || !strings.HasPrefix(out, "run ") {
		t.Fatalf("backup exits %d: %s%s", status, out, stderr)
	}
	return out
}

// restore runs restore.
func (f backupFolders) restore(t *testing.T, more ...string) (status int, out, stderr string) {
	t.Helper()
	args := []string{"restore", "--from", f.out, "--keys", f.keys, "--data", f.restored}
	if len(more) == 0 {
		more = []string{"--master-key-file", filepath.Join(f.data, "master.key")}
	}
	return invoke(t, append(args, more...)...)
}

// refused checks that restore fails with one line, and makes no folder.
func (f backupFolders) refused(t *testing.T, says string, more ...string) {
	t.Helper()
	status, out, stderr := f.restore(t, more...)
	if status == 0 || out != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, says) {
		t.Errorf("restore exits %d: %s%s; want %q", status, out, stderr, says)
	}
	for _, left := range []string{f.restored, f.restored + ".restoring"} {
		if _, err := os.Stat(left); !os.IsNotExist(err) {
			t.Errorf("%s was made: %v", left, err)
		}
	}
}

// answers returns the API's answers about payments: the payment and its history.
func (m *merchant) answers(t *testing.T, ids []string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, id := range ids {
		for _, path := range []string{"/payments/" + id, "/payments/" + id + "/events"} {
			all[path] = string(m.must(t, "GET", path, m.headers(), nil).body)
		}
	}
	return all
}

// webhookCounter counts webhooks by delivery.
type webhookCounter struct {
	mu   sync.Mutex
	came map[string]int
}

func (c *webhookCounter) ServeHTTP(_ http.ResponseWriter, q *http.Request) {
	var body struct{ EventID, EventType string }
	if json.NewDecoder(q.Body).Decode(&body) == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.came[body.EventType+" "+body.EventID]++
	}
}

func (c *webhookCounter) counts() (distinct, all int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.came {
		all += n
	}
	return len(c.came), all
}

// TestBackup: back-ups beside a running service under load, and one when it rests. The restored service has every payment that was answered
// before a back-up, answers byte for byte the same, sends no webhook again, and goes on. A customer who was erased between two back-ups
// stays erased; the keys of the first back-up are refused (I1).
func TestBackup(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	f := newBackupFolders(t)
	inbox := &webhookCounter{came: map[string]int{}}
	receiver := newReceiver(t, inbox)
	p := serveProcess(t, "--data", f.data, "--webhook-allow-cidr", "127.0.0.0/8", "--log-level", "error")
	m := newMerchant(p.ready.API, p.credentials.APIKey)
	m.must(t, "POST", "/management/webhook-endpoints", m.headers(), map[string]any{"url": receiver, "eventTypes": []string{"PAYMENT.STATUS"}})
	erased, guest := m.payAs(t, herCustomer), m.payAs(t, "")

	var mu sync.Mutex
	var ids []string
	var ended atomic.Bool
	var load sync.WaitGroup
	for w := range 4 {
		load.Go(func() {
			for i := 0; !ended.Load(); i++ {
				order := fmt.Sprintf("load-%d-%d", w, i)
				if id := m.tryPay(t, order); id != "" {
					mu.Lock()
					ids = append(ids, id)
					mu.Unlock()
				}
			}
		})
	}
	answered := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), ids...)
	}
	until(t, time.Minute, "some payments", func() (bool, string) { n := len(answered()); return n >= 40, fmt.Sprint(n) })
	before := answered()
	f.backUp(t)
	first := backupFolders{f.data, f.out, f.keys, f.restored + "-1"}
	if status, out, stderr := first.restore(t); status != 0 || !strings.Contains(out, "\nthe log is whole: ") {
		t.Fatalf("restore of a back-up under load exits %d: %s%s", status, out, stderr)
	}
	oldKeys := f.keys + "-old"
	if err := os.CopyFS(oldKeys, os.DirFS(f.keys)); err != nil {
		t.Fatal(err)
	}
	n := len(answered())
	until(t, time.Minute, "more payments", func() (bool, string) { return len(answered()) >= n+20, "" })
	if status, _, stderr := invoke(t, "erase-customer", "--data", f.data, herCustomer); status != 0 {
		t.Fatalf("erase-customer: %s", stderr)
	}
	ended.Store(true)
	load.Wait()
	all := append(answered(), erased, guest)
	wanted := map[string]string{}
	for _, id := range all {
		m.awaitDelivered(t, id)
		until(t, time.Minute, "the positions of all events", func() (bool, string) {
			got := m.answers(t, []string{id})
			history := got["/payments/"+id+"/events"]
			maps.Copy(wanted, got)
			return strings.Count(history, `"position":`) == strings.Count(history, `"previousHash":`), history
		})
	}
	t.Log(f.backUp(t))
	p.stop()

	stale := f
	stale.keys = oldKeys
	stale.refused(t, "the keys in "+oldKeys+" are of run 1, and the events in "+f.out+" are of run 2")
	first.paid(t, m.key, before, nil) // it sends again the webhooks whose outcomes came after the back-up
	distinct, sent := inbox.counts()
	status, out, stderr := f.restore(t)
	if status != 0 || stderr != "" || !strings.Contains(out, "\nthe log is whole: ") {
		t.Fatalf("restore exits %d: %s%s", status, out, stderr)
	}
	t.Log(out)
	f.paid(t, m.key, all, wanted)
	if d, s := inbox.counts(); d != distinct+1 || s != sent+1 {
		t.Errorf("%d webhooks (%d distinct) became %d (%d) with one more payment", sent, distinct, s, d)
	}
}

// awaitDelivered waits until the webhook of a payment has its outcome.
func (m *merchant) awaitDelivered(t *testing.T, id string) {
	t.Helper()
	until(t, time.Minute, "the outcome of a webhook", func() (bool, string) {
		got := m.must(t, "GET", "/management/webhook-deliveries?paymentId="+id, m.headers(), nil)
		return strings.Contains(string(got.body), `"SUCCEEDED"`), string(got.body)
	})
}

// tryPay makes a payment, and returns its id.
func (m *merchant) tryPay(t *testing.T, order string) string {
	token, ok := m.tryToken(order, 1000, "4111111111111111")
	if !ok {
		t.Error("no token")
		return ""
	}
	got, err := m.pay(token, order)
	var made paymentAnswer
	if err != nil || got.status != 200 || json.Unmarshal(got.body, &made) != nil {
		t.Errorf("pay: %v %s", err, got.body)
		return ""
	}
	return made.ID
}

// paid starts the restored service with the master key of the old folder, and checks its payments: they exist, with the wanted answers if
// there are any. Then it makes one more payment, and waits for its webhook.
func (f backupFolders) paid(t *testing.T, key string, ids []string, wanted map[string]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.data, "master.key"))
	if err == nil {
		err = os.WriteFile(filepath.Join(f.restored, "master.key"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := serveProcess(t, "--data", f.restored, "--webhook-allow-cidr", "127.0.0.0/8", "--log-level", "error")
	defer p.stop()
	m := newMerchant(p.ready.API, key)
	got := m.answers(t, ids)
	for path, want := range wanted {
		if got[path] != want {
			t.Errorf("%s was %.3000s\nand is %.3000s", path, want, got[path])
		}
		if strings.Contains(path, ids[len(ids)-2]) && len(shown(got[path])) > 0 {
			t.Errorf("%s shows %v", path, shown(got[path]))
		}
	}
	if wanted == nil {
		return
	}
	id := m.tryPay(t, "after-the-restore")
	m.awaitDelivered(t, id)
	if status, out, stderr := invoke(t, "verify", "--data", f.restored); status != 0 || strings.Contains(out, "note") {
		t.Errorf("verify exits %d: %s%s", status, out, stderr)
	}
}

// newReceiver starts a receiver of webhooks.
func newReceiver(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}
