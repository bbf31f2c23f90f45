//go:build system

package clusters

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/ownership"
)

// nodesRig is a cluster with a ledger, for nodes in the test's process.
type nodesRig struct {
	c    *clustertest.Cluster
	url  string
	made ledger.Made
	sim  string // the processors of all nodes
	paid []string
}

// TestClusterNodes: nodes over one cluster. One joins with an empty folder, lists name their lag,
// one leaves without a failed request, one joins with a copy of its folder, and the last one loses
// the majority of the NATS servers.
func TestClusterNodes(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	c := clustertest.Start(t, 3, nil).Formed(t)
	r := &nodesRig{c: c, url: c.URL(clustertest.User)}
	r.made = apptest.InitCluster(t, r.url, "--shards", "2")
	a := r.start(t, apptest.FreeAddress(t))
	r.sim = a.Sim.URL
	for range 10 {
		r.pay(t, a)
	}
	b := r.joins(t)
	r.listsLag(t, a, b)
	r.leaves(t, a, b.API.URL, func(p *nodesProxy) {
		b.Leave()
		p.quiet(t, 1)
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	r.copied(t, a, b.Options.Data)
	r.leavesBySignal(t, a)
	r.losesMajority(t, a)
	began := time.Now()
	err := a.Stop()
	t.Logf("a stop without a majority: %v after %s", err, time.Since(began))
}

// start starts a node with an empty folder.
func (r *nodesRig) start(t *testing.T, listen string) *app.App {
	t.Helper()
	return r.startIn(t, t.TempDir(), listen)
}

func (r *nodesRig) startIn(t *testing.T, dir, listen string) *app.App {
	t.Helper()
	o := apptest.TestOptions(dir)
	o.NatsURL, o.MasterKey, o.ProcessorURL, o.Listen, o.ReadTimeout = r.url, r.made.MasterKey, r.sim, listen, 0
	app, err := app.Start(t.Context(), o, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	return app
}

func (r *nodesRig) at(a *app.App) *apptest.Merchant {
	return apptest.NewMerchant(a.API.URL, r.made.APIKey)
}

// pay makes a payment at a node.
func (r *nodesRig) pay(t *testing.T, a *app.App) {
	t.Helper()
	m := r.at(a)
	answer, err := m.Pay(m.Token(t, fmt.Sprintf("order-%d", len(r.paid)), 2000, "4111111111111111"), "")
	if err != nil || answer.Status != http.StatusOK {
		t.Fatalf("pay: %d %s %v", answer.Status, answer.Body, err)
	}
	var p apptest.PaymentAnswer
	answer.Decode(t, &p)
	r.paid = append(r.paid, p.ID)
}

// joins starts a node with an empty folder. Until it has every payment it answers 503 with
// Retry-After.
func (r *nodesRig) joins(t *testing.T) *app.App {
	t.Helper()
	address := apptest.FreeAddress(t)
	ready := make(chan error, 1)
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			answer, err := http.Get("http://" + address + "/readyz")
			if err != nil { // it does not listen yet
				<-tick.C
				continue
			}
			answer.Body.Close()
			switch {
			case answer.StatusCode == http.StatusOK:
				ready <- nil
				return
			case answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "":
				ready <- fmt.Errorf("before it is ready: %d %v", answer.StatusCode, answer.Header)
				return
			}
		}
	}()
	listed := make(chan apptest.Answer, 1)
	failed := make(chan error, 2)
	go func() {
		if err := <-ready; err != nil {
			failed <- err
			return
		}
		m := apptest.NewMerchant("http://"+address, r.made.APIKey)
		a, err := m.Call("GET", "/payments", m.Headers(), nil) // at once
		failed <- err
		listed <- a
	}()
	b := r.start(t, address)
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	for first, id := <-listed, 0; id < len(r.paid); id++ {
		if first.Status != http.StatusOK || !strings.Contains(string(first.Body), r.paid[id]) {
			t.Fatalf("the node was ready without payment %d: %d %s", id, first.Status, first.Body)
		}
	}
	return b
}

var lagForm = regexp.MustCompile(`^events=(\d+), ms=(\d+)$`)

// listsLag checks the promise of Payledger-Lag: a payment that was acknowledged earlier than ms
// before the request is in the list.
func (r *nodesRig) listsLag(t *testing.T, a, b *app.App) {
	t.Helper()
	m := r.at(b)
	r.pay(t, a)
	acknowledged, id := time.Now(), r.paid[len(r.paid)-1]
	apptest.Eventually(t, func() bool {
		asked := time.Now()
		list := m.Must(t, "GET", "/payments", m.Headers(), nil)
		lag := lagForm.FindStringSubmatch(list.Header.Get("Payledger-Lag"))
		if lag == nil {
			t.Fatalf("Payledger-Lag: %q", list.Header.Get("Payledger-Lag"))
		}
		ms, err := strconv.Atoi(lag[2])
		if err != nil {
			t.Fatal(err)
		}
		there := strings.Contains(string(list.Body), id)
		if !there && asked.Add(-time.Duration(ms)*time.Millisecond).After(acknowledged) {
			t.Fatalf("acknowledged at %s, asked at %s: a list with %s lacks the payment", acknowledged, asked, lag[0])
		}
		return there
	})
	if refused, err := m.Call("GET", "/payments/"+id+"?consistency=latest", m.Headers(), nil); err != nil || refused.Status != http.StatusUnprocessableEntity {
		t.Errorf("consistency=latest: %d %s %v", refused.Status, refused.Body, err)
	}
}

// leaves sends steady requests through a proxy, from which one node leaves.
func (r *nodesRig) leaves(t *testing.T, stays *app.App, goes string, leave func(*nodesProxy)) {
	t.Helper()
	p := newNodesProxy(t, stays.API.URL, goes)
	m := apptest.NewMerchant(p.url(), r.made.APIKey)
	m.Client.Transport.(*http.Transport).DisableKeepAlives = true
	const clients = 4
	var answered atomic.Int64
	stop := make(chan struct{})
	var running sync.WaitGroup
	for n := range clients {
		running.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				method, path, body := "GET", "/payments/"+r.paid[i%len(r.paid)], any(nil)
				if i%3 == n%3 {
					method, path, body = "POST", "/client-session", map[string]any{"orderId": "steady", "currencyCode": "EUR", "amount": 100}
				}
				a, err := m.Call(method, path, m.Headers(), body)
				if err != nil || a.Status != http.StatusOK {
					t.Errorf("%s %s: %d %s %v", method, path, a.Status, a.Body, err)
				}
				answered.Add(1)
			}
		})
	}
	more := func(n int64) {
		t.Helper()
		from := answered.Load()
		apptest.Eventually(t, func() bool { return answered.Load() >= from+n })
	}
	more(40)
	served := p.nodes[1].served.Load()
	leave(p)
	more(40)
	close(stop)
	running.Wait()
	if served == 0 || p.nodes[0].served.Load() == 0 {
		t.Errorf("the nodes served %d and %d requests", p.nodes[0].served.Load(), served)
	}
	t.Logf("%d requests, of which the node that left served %d", answered.Load(), p.nodes[1].served.Load())
}

// leavesBySignal is leaves for a process that gets SIGTERM. It takes requests until its drain time
// is over, and then exits with 0 (I1).
func (r *nodesRig) leavesBySignal(t *testing.T, stays *app.App) {
	t.Helper()
	key := filepath.Join(t.TempDir(), "master.key")
	if err := os.WriteFile(key, []byte(r.made.MasterKey), 0o600); err != nil {
		t.Fatal(err)
	}
	goes := apptest.ServeProcess(t, "--data", t.TempDir(), "--nats-url", r.url, "--master-key-file", key, "--processor-url", r.sim, "--drain", "20s")
	r.leaves(t, stays, goes.Ready.API, func(p *nodesProxy) {
		if err := goes.Command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		p.quiet(t, 1)
		m := apptest.NewMerchant(goes.Ready.API, r.made.APIKey)
		if a, err := m.Call("GET", "/payments/"+r.paid[0], m.Headers(), nil); err != nil || a.Status != http.StatusOK {
			t.Errorf("in the drain time: %d %s %v", a.Status, a.Body, err)
		}
		if err := goes.Command.Wait(); err != nil {
			t.Errorf("after SIGTERM: %v\n%s", err, goes.Log)
		}
	})
	apptest.Eventually(t, func() bool { return stays.Nodes.Serving() == 1 }) // its record says that it left
}

// copied starts a node with a copy of the folder of a node that left. It has the payments of the
// copy, and those since.
func (r *nodesRig) copied(t *testing.T, stays *app.App, from string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	r.pay(t, stays)
	c := r.startIn(t, dir, apptest.FreeAddress(t))
	m := r.at(c)
	list := m.Must(t, "GET", "/payments", m.Headers(), nil)
	for _, id := range r.paid {
		if !strings.Contains(string(list.Body), id) {
			t.Errorf("the node with a copied folder lacks payment %s", id)
		}
		m.Read(t, id)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
}

var staleForm = regexp.MustCompile(`^as-of="([^"]+)", ms=\d+(, revision=\d+)?$`)

// losesMajority ends two of three NATS servers. Then reads and changes are refused, and a stale
// read is answered. A list is answered with its age while the node has its lease.
func (r *nodesRig) losesMajority(t *testing.T, a *app.App) {
	t.Helper()
	m, id := r.at(a), r.paid[0]
	before, _ := m.Read(t, id)
	for _, s := range r.c.Servers[1:] {
		s.Shutdown()
	}
	for _, s := range r.c.Servers[1:] {
		s.WaitForShutdown()
	}
	cut := time.Now()
	var refusals sync.WaitGroup
	session := map[string]any{"orderId": "refused", "currencyCode": "EUR", "amount": 100}
	for path, body := range map[string]any{"/payments/" + id: nil, "/payments/" + id + "/events": nil, "/client-session": session} {
		method := "GET"
		if body != nil {
			method = "POST"
		}
		refusals.Go(func() {
			refused, err := m.Call(method, path, m.Headers(), body)
			for err == nil && method == "GET" && refused.Status == http.StatusOK && time.Since(cut) < 2*ownership.Lease {
				refused, err = m.Call(method, path, m.Headers(), body) // the owner reads from memory until its lease is over
			}
			if err != nil || refused.Status != http.StatusServiceUnavailable || refused.Header.Get("Retry-After") == "" {
				t.Errorf("%s without a majority: %d %s %v", path, refused.Status, refused.Body, err)
			}
			t.Logf("%s: 503 after %s", path, time.Since(cut))
		})
	}
	list, err := m.Call("GET", "/payments", m.Headers(), nil)
	lag := list.Header.Get("Payledger-Lag")
	if served := list.Status == http.StatusOK; err != nil || !served && list.Status != http.StatusServiceUnavailable || served && !strings.Contains(lag, "ms=") {
		t.Errorf("a list without a majority: %d, lag %q, %s %v", list.Status, lag, list.Body, err)
	}
	refusals.Wait()
	apptest.Eventually(t, func() bool {
		list, err := m.Call("GET", "/payments", m.Headers(), nil)
		return err == nil && list.Status == http.StatusServiceUnavailable
	})
	for _, path := range []string{"/payments/" + id, "/payments/" + id + "/events"} {
		began := time.Now()
		stale, err := m.Call("GET", path+"?consistency=stale", m.Headers(), nil)
		form := staleForm.FindStringSubmatch(stale.Header.Get("Payledger-Stale"))
		if err != nil || stale.Status != http.StatusOK || form == nil {
			t.Fatalf("%s, stale: %d %v %s %v", path, stale.Status, stale.Header, stale.Body, err)
		}
		t.Logf("%s: stale after %s: %s", path, time.Since(began), form[0])
		if at, err := time.Parse(time.RFC3339Nano, form[1]); err != nil || at.After(cut) {
			t.Errorf("%s: the answer is of %s, after the cut at %s: %v", path, form[1], cut, err)
		}
		if !strings.Contains(string(stale.Body), before.Status) {
			t.Errorf("%s, stale: %s", path, stale.Body)
		}
	}
}
