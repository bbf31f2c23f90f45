//go:build system

package kills

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/eventstoretest"
)

// TestBackup: back-ups beside a running service under load, and one when it rests. The restored
// service has every payment that was answered before a back-up, answers byte for byte the same,
// sends no webhook again, and goes on. A customer who was erased between two back-ups stays erased;
// the keys of the first back-up are refused (I1).
func TestBackup(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	f := apptest.NewBackupFolders(t)
	inbox := &apptest.WebhookCounter{Came: map[string]int{}}
	receiver := newReceiver(t, inbox)
	p := apptest.ServeProcess(t, "--data", f.Data, "--webhook-allow-cidr", "127.0.0.0/8", "--log-level", "error")
	m := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey)
	m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": receiver, "eventTypes": []string{"PAYMENT.STATUS"}})
	erased, guest := m.PayAs(t, apptest.HerCustomer), m.PayAs(t, "")

	var mu sync.Mutex
	var ids []string
	var ended atomic.Bool
	var load sync.WaitGroup
	for w := range 4 {
		load.Go(func() {
			for i := 0; !ended.Load(); i++ {
				order := fmt.Sprintf("load-%d-%d", w, i)
				if id := m.TryPay(t, order); id != "" {
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
	apptest.Until(t, time.Minute, "some payments", func() (bool, string) { n := len(answered()); return n >= 40, fmt.Sprint(n) })
	before := answered()
	f.BackUp(t)
	first := apptest.BackupFolders{Data: f.Data, Out: f.Out, Keys: f.Keys, Restored: f.Restored + "-1"}
	if status, out, stderr := first.Restore(t); status != 0 || !strings.Contains(out, "\nthe log is whole: ") {
		t.Fatalf("restore of a back-up under load exits %d: %s%s", status, out, stderr)
	}
	oldKeys := f.Keys + "-old"
	if err := os.CopyFS(oldKeys, os.DirFS(f.Keys)); err != nil {
		t.Fatal(err)
	}
	n := len(answered())
	apptest.Until(t, time.Minute, "more payments", func() (bool, string) { return len(answered()) >= n+20, "" })
	if status, _, stderr := apptest.Invoke(t, "erase-customer", "--data", f.Data, apptest.HerCustomer); status != 0 {
		t.Fatalf("erase-customer: %s", stderr)
	}
	ended.Store(true)
	load.Wait()
	all := append(answered(), erased, guest)
	wanted := map[string]string{}
	for _, id := range all {
		m.AwaitDelivered(t, id)
		apptest.Until(t, time.Minute, "the positions of all events", func() (bool, string) {
			got := m.Answers(t, []string{id})
			history := got["/payments/"+id+"/events"]
			maps.Copy(wanted, got)
			return strings.Count(history, `"position":`) == strings.Count(history, `"previousHash":`), history
		})
	}
	t.Log(f.BackUp(t))
	p.Stop()

	stale := f
	stale.Keys = oldKeys
	stale.Refused(t, "the keys in "+oldKeys+" are of run 1, and the events in "+f.Out+" are of run 2")
	first.Paid(t, m.Key, before, nil) // it sends again the webhooks whose outcomes came after the back-up
	distinct, sent := inbox.Counts()
	status, out, stderr := f.Restore(t)
	if status != 0 || stderr != "" || !strings.Contains(out, "\nthe log is whole: ") {
		t.Fatalf("restore exits %d: %s%s", status, out, stderr)
	}
	t.Log(out)
	f.Paid(t, m.Key, all, wanted)
	if d, s := inbox.Counts(); d != distinct+1 || s != sent+1 {
		t.Errorf("%d webhooks (%d distinct) became %d (%d) with one more payment", sent, distinct, s, d)
	}
}

// newReceiver starts a receiver of webhooks.
func newReceiver(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}
