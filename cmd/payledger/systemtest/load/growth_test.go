//go:build system

package load

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/domain"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

var (
	grown     = flag.Int("grown", 5000, "how many payments the log of TestGrowth holds; four aggregates each")
	grownData = flag.String("grown-data", "", "a folder in which TestGrowth keeps its log for the next time")
)

const (
	grownMemory = 1 << 30 // --memory of the processes, in bytes
	grownLoad   = 320     // payments over HTTP
	grownUsers  = 16
)

// TestGrowth starts a log with many payments after SIGTERM, after kill -9, without its views and
// without its tip store. The service pays, and stays below its memory limit. The test prints the
// time of each start. For figures: -grown 1000000 -timeout 2h.
func TestGrowth(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	o := apptest.TestOptions(*grownData)
	if o.Data == "" {
		o.Data = t.TempDir()
	}
	g := &growth{t: t, data: o.Data, paid: grownLoad}
	g.key, g.ids = filled(t, o)
	g.start("first, views made from nothing")
	g.p.Stop()
	g.start("after SIGTERM")
	g.load()
	g.p.Kill()
	g.start("after kill -9")
	g.measure("at rest")
	g.p.Kill()
	if err := os.RemoveAll(filepath.Join(o.Data, ledger.EventsFolder, "tips")); err != nil {
		t.Fatal(err)
	}
	g.start("without the tip store")
	g.p.Stop()
	g.sizes()
}

// growth is a folder, and the service on it.
type growth struct {
	t    *testing.T
	data string
	key  string
	ids  []domain.PaymentID
	paid int // payments over HTTP
	p    *apptest.Process
}

// filled makes a log of -grown payments, unless it is there, and returns the API key of its account
// and some payments.
func filled(t testing.TB, o options.Options) (key string, ids []domain.PaymentID) {
	t.Helper()
	kept := filepath.Join(o.Data, "key")
	if text, err := os.ReadFile(kept); err == nil {
		return string(text), nil
	}
	app, err := app.Start(context.Background(), o, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	made := app.Credentials
	if err := app.Stop(); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(context.Background(), o, ledger.Create, engine.Config{Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	ids, err = eventstoretest.Generate(context.Background(), l.Store, made.AccountID, *grown, 256)
	took := time.Since(began)
	if err := errors.Join(err, l.Close(), os.WriteFile(kept, []byte(made.APIKey), 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d payments, %d aggregates, %d events: %.0f events/s", *grown, *grown*eventstoretest.LifeAggregates,
		*grown*eventstoretest.LifeEvents, float64(*grown*eventstoretest.LifeEvents)/took.Seconds())
	return made.APIKey, ids[:min(len(ids), 100)]
}

// start starts the service, reads payments of the log, and returns the time until it was ready.
func (g *growth) start(how string) {
	g.t.Helper()
	began := time.Now()
	g.p = apptest.ServeProcessWithin(g.t, time.Hour, "--data", g.data, "--pprof", "--memory", strconv.Itoa(grownMemory), "--log-level", "info", "--log-format", "json")
	g.t.Logf("ready %.2f s: %s", time.Since(began).Seconds(), how)
	m := apptest.NewMerchant(g.p.Ready.API, g.key)
	for _, id := range g.ids {
		if read, _ := m.Read(g.t, string(id)); read.Status != "SETTLED" {
			g.t.Fatalf("payment %s is %s", id, read.Status)
		}
	}
	g.measure(how)
}

// load makes payments over HTTP and then logs the memory of the process.
func (g *growth) load() {
	g.t.Helper()
	m := apptest.NewMerchant(g.p.Ready.API, g.key)
	var running sync.WaitGroup
	began := time.Now()
	for user := range grownUsers {
		running.Go(func() {
			for i := user; i < g.paid; i += grownUsers {
				token := m.Token(g.t, fmt.Sprintf("load-%d", i), 2500, "4111111111111111")
				if a, err := m.Pay(token, "load-"+token); err != nil || a.Status != http.StatusOK {
					g.t.Errorf("create answered %d %v", a.Status, err)
				}
			}
		})
	}
	running.Wait()
	g.measure(fmt.Sprintf("under load, %.0f payments/s with session and card", float64(g.paid)/time.Since(began).Seconds()))
}

// measure prints the memory of the process, and fails the test if it is above the limit.
func (g *growth) measure(when string) {
	g.t.Helper()
	g.get("/debug/pprof/heap?gc=1")
	heap := "?"
	for line := range strings.Lines(g.get("/metrics")) {
		if value, found := strings.CutPrefix(line, "go_memstats_heap_alloc_bytes "); found {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				g.t.Fatal(err)
			}
			heap = fmt.Sprintf("%.1f MiB", n/(1<<20))
		}
	}
	rss, peak := g.p.Memory("VmRSS:"), g.p.Memory("VmHWM:")
	g.t.Logf("heap in use %s, RSS %.1f MiB, at most %.1f MiB: %s", heap, rss, peak, when)
	if peak > grownMemory>>20 {
		g.t.Errorf("%.1f MiB are more than the %d MiB that --memory gives", peak, grownMemory>>20)
	}
}

// get reads from the admin address.
func (g *growth) get(path string) string {
	g.t.Helper()
	a, err := http.Get(g.p.Ready.Admin + path)
	if err != nil {
		g.t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK {
		g.t.Fatalf("%s answered %d %v", path, a.StatusCode, err)
	}
	return string(body)
}

// sizes logs the disk space of each folder.
func (g *growth) sizes() {
	g.t.Helper()
	for name, n := range apptest.OnDisk(g.t, g.data) {
		g.t.Logf("%9.1f MiB, %6d bytes a payment: %s", float64(n)/(1<<20), n/int64(*grown+g.paid), name)
	}
}
