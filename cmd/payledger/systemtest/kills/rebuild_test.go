//go:build system

package kills

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
)

// TestRebuildCommand: rebuild beside the running service, while clients read and pay, and in the
// folder of a stopped one (I1). No read fails, lists answer as before, verify finds everything
// whole, and wrong rows are gone.
func TestRebuildCommand(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := apptest.ServeProcess(t, "--data", data, "--webhook-allow-cidr", "127.0.0.0/8")
	m := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey)
	if got, err := m.Call("POST", "/management/webhook-endpoints", m.Headers(), map[string]any{
		"url": "http://127.0.0.1:1/hooks", "eventTypes": []string{"PAYMENT.STATUS"},
	}); err != nil || got.Status != 200 {
		t.Fatalf("an endpoint: %v %d %s", err, got.Status, got.Body)
	}
	ids := paid(t, p.Ready.API, p.Credentials.APIKey, 20)
	ask := func(path string) []byte {
		got, err := m.Call("GET", path, m.Headers(), nil)
		if err != nil || got.Status != 200 {
			t.Errorf("%s: %v %d %s", path, err, got.Status, got.Body)
		}
		return got.Body
	}
	apptest.Until(t, time.Minute, "deliveries are listed", func() (bool, string) {
		got := ask("/management/webhook-deliveries?limit=100")
		return bytes.Count(got, []byte(`"eventId"`)) >= len(ids), string(got)
	})
	rebuild := func(args ...string) (int, string, string) {
		return apptest.Invoke(t, append([]string{"rebuild", "--data", data}, args...)...)
	}
	if status, out, stderr := rebuild("payouts"); status != 2 || out != "" || !strings.Contains(stderr, "name one of: views, deliveries") {
		t.Errorf("an unknown projection: %d %s%s", status, out, stderr)
	}
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for _, read := range []struct {
		path string
		of   []byte
		n    int
	}{
		{"/payments?limit=100&status=AUTHORIZED", []byte(`"currencyCode"`), len(ids)}, {"/payments?limit=100", []byte(`"currencyCode"`), len(ids)},
		{"/payments/" + ids[3], []byte(ids[3]), 1}, {"/management/webhook-deliveries?limit=100", []byte(`"eventId"`), len(ids)},
	} {
		readers.Go(func() {
			for {
				if got := ask(read.path); bytes.Count(got, read.of) < read.n {
					t.Errorf("%s: %s", read.path, got)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range 3 {
		if status, out, stderr := rebuild(); status != 0 || !strings.Contains(out, "views: rebuilt from ") || !strings.Contains(out, "deliveries: rebuilt from ") {
			t.Errorf("rebuild: %d %s%s", status, out, stderr)
		}
	}
	close(stop)
	readers.Wait()
	whole := func(when string) {
		t.Helper()
		if status, out, stderr := apptest.Invoke(t, "verify", "--data", data); status != 0 || strings.Contains(out, "note") {
			t.Errorf("%s: verify exits %d: %s%s", when, status, out, stderr)
		}
		var names []string
		for path := range files(t, filepath.Join(data, ledger.ViewsFolder)) {
			if name := filepath.Base(path); strings.Contains(name, ".sqlite") && !strings.HasSuffix(name, "-wal") && !strings.HasSuffix(name, "-shm") {
				names = append(names, name)
			}
		}
		if slices.Sort(names); len(names) != 2 || !strings.HasPrefix(names[0], "deliveries.sqlite.") || !strings.HasPrefix(names[1], "views.sqlite.") {
			t.Errorf("%s: the files are %v", when, names)
		}
	}
	whole("rebuilt")
	p.Kill()
	whole("killed")
	messages := func() map[string]string {
		all := files(t, filepath.Join(data, ledger.EventsFolder))
		maps.DeleteFunc(all, func(path, _ string) bool { return filepath.Ext(path) != ".blk" })
		return all
	}
	before := messages()
	if status, out, stderr := rebuild("views"); status != 0 || strings.Contains(out, "deliveries") || !strings.HasPrefix(out, "views: rebuilt from ") {
		t.Errorf("stopped: %d %s%s", status, out, stderr)
	}
	same(t, before, messages())
	whole("stopped")
	views, err := filepath.Glob(filepath.Join(data, ledger.ViewsFolder, "views.sqlite.?"))
	if err != nil || len(views) != 1 {
		t.Fatal(views, err)
	}
	execute(t, views[0], `UPDATE payments SET amount = amount + 1 WHERE id = ?`, ids[5])
	if err := os.WriteFile(filepath.Join(data, ledger.ViewsFolder, "views.sqlite.99"), []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	p = apptest.ServeProcess(t, "--data", data)
	if status, _, stderr := apptest.Invoke(t, "verify", "--data", data); status != 1 || !strings.Contains(stderr, "the views have 1001 as amount") {
		t.Errorf("a wrong row: %d %s", status, stderr)
	}
	if status, out, stderr := rebuild(); status != 0 {
		t.Errorf("after the damage: %d %s%s", status, out, stderr)
	}
	whole("repaired")
	m = apptest.NewMerchant(p.Ready.API, m.Key)
	if got := ask("/payments?limit=100"); bytes.Count(got, []byte(`"currencyCode"`)) != len(ids) {
		t.Errorf("after a restart: %s", got)
	}
	p.Stop()
	whole("stopped again")
}
