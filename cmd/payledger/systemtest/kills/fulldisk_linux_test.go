//go:build system

package kills

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/jetapi"
)

// smallDisk is the size of the disk in the test, in bytes: little more than the reserved space.
const smallDisk = 320 << 20

// smallFolder returns a folder with its own file system for the test.
func smallFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	mount(t, dir, smallDisk)
	return dir
}

// mount mounts a file system of a size in bytes on a folder for the test's life.
func mount(t *testing.T, dir string, size int64) {
	t.Helper()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size)); err != nil {
		t.Fatalf("a file system for this test cannot be mounted: %v; run it as root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill leaves the given number of bytes free. It also takes space that is freed meanwhile.
func fill(t *testing.T, dir string, leave int64) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "filler"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		free := freeIn(t, dir)
		if free <= leave {
			return
		}
		if err := unix.Fallocate(int(f.Fd()), 0, info.Size(), free-leave); err != nil && err != unix.ENOSPC {
			t.Fatal(err)
		}
	}
}

func freeIn(t *testing.T, dir string) int64 {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Bavail) * s.Bsize
}

// TestFullDisk: a disk that is full makes the service read-only: writes are refused at once, reads
// and history go on, and when there is room it goes on by itself; also after a start on the full
// disk. Nothing that was answered is lost.
func TestFullDisk(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	dir := smallFolder(t)
	data := filepath.Join(dir, "data")
	p := apptest.ServeProcess(t, "--data", data)
	key := p.Credentials.APIKey
	m := apptest.NewMerchant(p.Ready.API, key)
	var paid []string
	pay := func(n int) {
		got, err := m.Pay(m.Token(t, fmt.Sprintf("order-%d", n), 1000, "4111111111111111"), fmt.Sprintf("key-%d", n))
		if err != nil || got.Status != 200 {
			t.Fatalf("pay: %v %d %s", err, got.Status, got.Body)
		}
		var made apptest.PaymentAnswer
		got.Decode(t, &made)
		paid = append(paid, made.ID)
	}
	for n := range 20 {
		pay(n)
	}
	token := m.Token(t, "order-late", 1000, "4111111111111111")
	apptest.Until(t, time.Minute, "space is set aside", func() (bool, string) {
		_, err := os.Stat(filepath.Join(data, ledger.EventsFolder, "ballast"))
		return err == nil, fmt.Sprint(err)
	})
	ready := func() (bool, string) {
		got, err := m.Call("GET", "/readyz", nil, nil)
		return err == nil && got.Status == http.StatusOK, fmt.Sprint(err, got.Status, string(got.Body))
	}
	full := func() {
		t.Helper()
		apptest.Until(t, time.Minute, "readyz is red", func() (bool, string) {
			got, err := m.Call("GET", "/readyz", nil, nil)
			return err == nil && got.Status == 503 && strings.Contains(string(got.Body), "read-only: disk full"), fmt.Sprint(err, string(got.Body))
		})
		var all []time.Duration
		for i := range 20 {
			start := time.Now()
			got, err := m.Pay(token, fmt.Sprintf("late-%d", i%2))
			all = append(all, time.Since(start))
			if err != nil || got.Status != 503 || got.Header.Get("Retry-After") == "" {
				t.Errorf("a payment on a full disk: %v %d %s, Retry-After %q", err, got.Status, got.Body, got.Header.Get("Retry-After"))
			}
		}
		session, err := m.Call("POST", "/client-session", m.Headers(), map[string]any{
			"orderId": "late", "currencyCode": "EUR", "amount": 1, "customer": map[string]any{"email": "bob@example.com"},
		})
		if err != nil || session.Status != 503 || session.Header.Get("Retry-After") == "" {
			t.Errorf("a session on a full disk: %v %d %s", err, session.Status, session.Body)
		}
		slices.Sort(all)
		slowest := all[len(all)-1]
		if median := all[len(all)/2]; median > jetapi.PublishTimeout/2 { // a write that waits for the full disk takes longer, and a busy machine delays single requests
			t.Errorf("a write was refused after %s", median)
		}
		reads := time.Now()
		for _, id := range paid {
			m.Read(t, id)
			if got, err := m.Call("GET", "/payments/"+id+"/events", m.Headers(), nil); err != nil || got.Status != 200 {
				t.Errorf("history: %v %d %s", err, got.Status, got.Body)
			}
		}
		t.Logf("free %d: writes refused within %s, %d reads in %s", freeIn(t, dir), slowest, 2*len(paid), time.Since(reads))
	}
	fill(t, dir, 40<<20)
	full()
	fill(t, dir, 0)
	apptest.Until(t, time.Minute, "the ballast is given up", func() (bool, string) {
		_, err := os.Stat(filepath.Join(data, ledger.EventsFolder, "ballast"))
		return os.IsNotExist(err), fmt.Sprint(err)
	})
	fill(t, dir, 0)
	full()
	p.Stop()
	p = apptest.ServeProcess(t, "--data", data)
	m = apptest.NewMerchant(p.Ready.API, key)
	full()
	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	apptest.Until(t, time.Minute, "it goes on by itself", ready)
	t.Logf("ready again after %s", time.Since(start))
	pay(100)
	newest := paid[len(paid)-1]
	paid = paid[:len(paid)-1] // the views may not have it yet
	fill(t, dir, 0)
	full()
	paid = append(paid, newest)
	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
	apptest.Until(t, time.Minute, "it goes on by itself", ready)
	pay(101)
	for _, id := range paid {
		m.Read(t, id)
	}
	p.Stop()
}

// TestFullAnalyticsDisk: a full disk of the stream EVENTS stops the stream alone. Payments go on,
// and when there is room the stream has every event at its position.
func TestFullAnalyticsDisk(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	const patience = 5 * time.Minute
	dir := t.TempDir()
	disk := filepath.Join(dir, ledger.AnalyticsFolder)
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	mount(t, disk, 32<<20)
	o := apptest.TestOptions(dir)
	o.NatsListen = "127.0.0.1:0"
	app := apptest.StartApp(t, o)
	m := apptest.NewMerchant(app.API.URL, app.Credentials.APIKey)
	payments := 0
	pay := func() {
		t.Helper()
		payments++
		if paid, err := m.Pay(m.Token(t, fmt.Sprint("order-", payments), 1000, "4111111111111111"), ""); err != nil || paid.Status != http.StatusOK {
			t.Fatalf("payment %d: status %d, %v", payments, paid.Status, err)
		}
	}
	pay()
	_, stream := analyst(t, app, dir, "warehouse")
	m.ReadAsGiven(t, app, stream)

	fill(t, disk, 0)
	for range 50 {
		pay()
	}
	apptest.Until(t, patience, "the feed fails", func() (bool, string) { return app.Feed.Failing(), "" })
	for range 20 {
		pay()
	}
	apptest.Until(t, 30*time.Second, "the service is ready", func() (bool, string) { // the views may be behind for a moment
		err := app.Healthy()
		return err == nil, fmt.Sprint(err)
	})
	if err := os.Remove(filepath.Join(disk, "filler")); err != nil {
		t.Fatal(err)
	}
	size := apptest.Events(t, app)
	apptest.Until(t, patience, "the feed has written all events", func() (bool, string) {
		return app.Feed.Position() >= size && !app.Feed.Failing(), fmt.Sprint(app.Feed.Position(), " of ", size)
	})
	_, stream = analyst(t, app, dir, "books")
	m.ReadAsGiven(t, app, stream)
}
