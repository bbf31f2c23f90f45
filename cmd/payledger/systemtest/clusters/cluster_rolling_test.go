//go:build system

package clusters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/adapter"
	"payledger/processorsim/simulator"
)

// balancer is a client's way to the nodes: it sends each request to a ready one, as a load balancer
// with health checks does. Only a request that was not sent, because its node took no connection,
// goes to another node.
type balancer struct {
	nodes     []*proxiedNode
	wire      *http.Transport
	turn      atomic.Int64
	elsewhere atomic.Int64 // requests that their first node did not take
}

// RoundTrip sends a request. It waits while no node is ready.
func (b *balancer) RoundTrip(q *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(apptest.SettleDeadline); ; {
		n := b.nodes[b.turn.Add(1)%int64(len(b.nodes))]
		if !n.ready.Load() {
			if time.Now().After(deadline) {
				return nil, errors.New("no node is ready")
			}
			if b.ready() == 0 {
				<-tick.C
			}
			continue
		}
		answer, connected, err := b.send(n, q, body)
		if err == nil || connected {
			n.served.Add(1)
			return answer, err
		}
		b.elsewhere.Add(1)
		<-tick.C
	}
}

func (b *balancer) ready() (all int) {
	for _, n := range b.nodes {
		if n.ready.Load() {
			all++
		}
	}
	return all
}

// send sends a request to a node. It reports whether there was a connection. The HTTP client sends
// a request again by itself if a kept connection was closed meanwhile: that is an error if the
// first one may have been read.
func (b *balancer) send(n *proxiedNode, q *http.Request, body []byte) (answer *http.Response, connected bool, err error) {
	var connections, sent atomic.Int64
	request := q.Clone(httptrace.WithClientTrace(q.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connections.Add(1) },
		WroteRequest: func(i httptrace.WroteRequestInfo) {
			if i.Err == nil {
				sent.Add(1)
			}
		},
	}))
	request.URL.Host = strings.TrimPrefix(n.url, "http://")
	request.Body = http.NoBody
	if len(body) > 0 {
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
	answer, err = b.wire.RoundTrip(request)
	if sent.Load() > 1 {
		err = errors.Join(err, errors.New("the node closed the connection under a request"))
	}
	return answer, connections.Load() > 0, err
}

// rollingRig is a cluster of three nodes whose processes and NATS servers are restarted one after
// the other, under load.
type rollingRig struct {
	c     *clustertest.Cluster
	made  ledger.Made
	sim   string
	dirs  []string
	nodes []*apptest.Process
	*balancer

	stop     chan struct{}
	load     sync.WaitGroup
	whole    atomic.Int64 // payments that were made, captured and read
	sent     atomic.Int64
	patience atomic.Int64 // how many more requests are repeated
	mu       sync.Mutex
	phase    string
	worst    time.Duration // of the requests of the phase
	paid     []string      // acknowledged payments
	failed   []string
}

const (
	rollingClients = 4
	rollingPace    = 200 * time.Millisecond // between two payments of a client
	drain          = "3s"                   // of a node: longer than the balancer needs to notice
	patience       = 20                     // requests that the store was too slow for
)

// TestClusterRolling: three nodes of a cluster, and then its three NATS servers, are restarted one
// after the other, as RUNBOOK.md says, while clients make, capture and read payments. No request
// fails, nothing is lost, and nothing is doubled.
func TestClusterRolling(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRollingRig(t)
	r.patience.Store(patience)
	r.begin(t)
	r.more(t)
	for i := range r.nodes {
		r.during(fmt.Sprintf("restart of node %d", i+1))
		began := time.Now()
		r.restartNode(t, i)
		r.more(t)
		r.tell(t, time.Since(began))
	}
	for i := range r.c.Servers {
		r.during(fmt.Sprintf("restart of NATS server %d", i+1))
		began := time.Now()
		r.restartServer(t, i)
		r.more(t)
		r.tell(t, time.Since(began))
	}
	close(r.stop)
	r.load.Wait()
	t.Logf("%d payments, %d requests, of which %d went to another node, and %d were repeated", len(r.paid), r.sent.Load(), r.elsewhere.Load(), patience-max(0, r.patience.Load()))
	for _, fault := range r.failed {
		t.Error(fault)
	}
	r.check(t)
}

func newRollingRig(t *testing.T) *rollingRig {
	t.Helper()
	// The addresses stay free while a server is away.
	c := clustertest.Start(t, 3, func(_ int, o *server.Options) {
		host, port, err := net.SplitHostPort(apptest.FreeAddress(t))
		if err != nil {
			t.Fatal(err)
		}
		o.Host, o.Cluster.NoAdvertise, o.HTTPHost, o.HTTPPort = host, true, "127.0.0.1", server.RANDOM_PORT
		if o.Port, err = strconv.Atoi(port); err != nil {
			t.Fatal(err)
		}
		o.LameDuckGracePeriod, o.LameDuckDuration = 500*time.Millisecond, 1500*time.Millisecond
	}).Formed(t)
	made := apptest.InitCluster(t, c.URL(clustertest.User), "--shards", "2")
	t.Setenv("PAYLEDGER_MASTER_KEY", made.MasterKey)
	t.Setenv("PAYLEDGER_NATS_URL", c.URL(clustertest.User))
	sim, err := simulator.New(simulator.Config{Dir: t.TempDir(), Secret: []byte(processorSecret), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	books := httptest.NewServer(sim.Handler())
	t.Cleanup(func() { sim.Close(); books.Close() })
	r := &rollingRig{c: c, made: made, sim: books.URL, stop: make(chan struct{})}
	var urls []string
	for range 3 {
		r.dirs = append(r.dirs, t.TempDir())
		urls = append(urls, "http://"+apptest.FreeAddress(t))
		r.nodes = append(r.nodes, r.serve(t, r.dirs[len(r.dirs)-1], urls[len(urls)-1]))
	}
	r.balancer = &balancer{nodes: watchNodes(t, urls...), wire: &http.Transport{MaxIdleConnsPerHost: 16}}
	t.Cleanup(r.wire.CloseIdleConnections)
	return r
}

// serve starts a node. A start that ends, because a busy machine did not answer in time, is
// repeated: the units of systemd do so.
func (r *rollingRig) serve(t *testing.T, dir, url string) *apptest.Process {
	t.Helper()
	for tries := 1; ; tries++ {
		p, err := apptest.TryServeProcess(t, apptest.StartTimeout, "--data", dir, "--listen", strings.TrimPrefix(url, "http://"),
			"--processor-url", r.sim, "--processor-secret", processorSecret, "--drain", drain)
		if err == nil {
			return p
		}
		if t.Log(err); tries == 3 {
			t.FailNow()
		}
	}
}

// restartNode ends a node in order, and starts it again.
func (r *rollingRig) restartNode(t *testing.T, i int) {
	t.Helper()
	n := r.nodes[i]
	if err := n.Command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := n.Command.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, n.Log)
	}
	r.nodes[i] = r.serve(t, r.dirs[i], r.balancer.nodes[i].url)
	r.allReady(t)
}

// restartServer restarts a NATS server, and waits until its streams have caught up.
func (r *rollingRig) restartServer(t *testing.T, i int) {
	t.Helper()
	r.c.Restart(t, i)
	health := "http://" + r.c.Servers[i].MonitorAddr().String() + "/healthz"
	apptest.Eventually(t, func() bool {
		answer, err := http.Get(health)
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	r.allReady(t)
}

func (r *rollingRig) allReady(t *testing.T) {
	t.Helper()
	apptest.Eventually(t, func() bool { return r.ready() == len(r.balancer.nodes) })
}

// during names what happens meanwhile.
func (r *rollingRig) during(phase string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase, r.worst = phase, 0
}

func (r *rollingRig) tell(t *testing.T, took time.Duration) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Logf("%s: %.1f s; the slowest request took %.2f s", r.phase, took.Seconds(), r.worst.Seconds())
}

func (r *rollingRig) took(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.worst = max(r.worst, d)
}

func (r *rollingRig) fail(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, r.phase+": "+fmt.Sprintf(format, args...))
}

// more waits until every node has answered, and some payments more have been read.
func (r *rollingRig) more(t *testing.T) {
	t.Helper()
	whole, served := r.whole.Load(), []int64{}
	for _, n := range r.balancer.nodes {
		served = append(served, n.served.Load())
	}
	apptest.Eventually(t, func() bool {
		for i, n := range r.balancer.nodes {
			if n.served.Load() < served[i]+10 {
				return false
			}
		}
		return r.whole.Load() >= whole+10
	})
}

// begin starts the clients.
func (r *rollingRig) begin(t *testing.T) {
	r.during("before")
	m := apptest.NewMerchant("http://balanced", r.made.APIKey)
	m.Client.Transport = r.balancer
	for client := range rollingClients {
		r.load.Go(func() {
			tick := time.NewTicker(rollingPace)
			defer tick.Stop()
			for i := 0; ; i++ {
				r.pay(m, fmt.Sprintf("order-%d-%d", client, i))
				select {
				case <-r.stop:
					return
				case <-tick.C:
				}
			}
		})
	}
}

// pay makes a payment, captures and reads it. A request that fails ends it.
func (r *rollingRig) pay(m *apptest.Merchant, order string) {
	var got struct {
		ClientToken, Token, ID, Status string
	}
	call := func(method, path string, header map[string]string, body any, status string) bool {
		answer, took, err := r.send(m, method, path, header, body)
		if err == nil && answer.Status == http.StatusOK {
			err = json.Unmarshal(answer.Body, &got)
		}
		if err != nil || answer.Status != http.StatusOK || status != "" && got.Status != status {
			r.fail("%s %s of %s, after %s: %d %s %v", method, path, order, took.Round(time.Millisecond), answer.Status, answer.Body, err)
			return false
		}
		return true
	}
	keyed := func(step string) map[string]string {
		header := m.Headers()
		header["X-Idempotency-Key"] = step + "-" + order
		return header
	}
	if !call("POST", "/client-session", m.Headers(), map[string]any{"orderId": order, "currencyCode": "EUR", "amount": 2000}, "") ||
		!call("POST", "/payment-instruments", map[string]string{"X-Client-Token": got.ClientToken}, map[string]any{"paymentInstrument": map[string]any{
			"number": "4111111111111111", "cvv": "737", "expirationMonth": "03", "expirationYear": apptest.Expires, "cardholderName": "Ada Lovelace",
		}}, "") ||
		!call("POST", "/payments", keyed("pay"), map[string]any{"paymentMethodToken": got.Token}, "AUTHORIZED") {
		return
	}
	path := "/payments/" + got.ID
	if call("GET", path, m.Headers(), nil, "AUTHORIZED") && call("POST", path+"/capture", keyed("capture"), map[string]any{"amount": 2000}, "SETTLED") &&
		call("GET", path, m.Headers(), nil, "SETTLED") && call("GET", "/payments?order_id="+order, m.Headers(), nil, "") {
		r.whole.Add(1)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paid = append(r.paid, got.ID)
}

// send sends a request. On a machine that stands still for seconds the store is too slow: then it
// is repeated.
func (r *rollingRig) send(m *apptest.Merchant, method, path string, header map[string]string, body any) (answer apptest.Answer, took time.Duration, err error) {
	for again := true; again; {
		r.sent.Add(1)
		began := time.Now()
		answer, err = m.Call(method, path, header, body)
		took = time.Since(began)
		r.took(took)
		again = err == nil && answer.Status == http.StatusServiceUnavailable && took > apptest.StoreIsSlow && !bytes.Contains(answer.Body, []byte("unknown")) &&
			r.patience.Add(-1) >= 0
	}
	return answer, took, err
}

// check compares the acknowledged payments with the nodes' answers and the processors' books, stops
// the nodes, and verifies the log.
func (r *rollingRig) check(t *testing.T) {
	t.Helper()
	for i, id := range r.paid {
		m := apptest.NewMerchant(r.balancer.nodes[i%len(r.nodes)].url, r.made.APIKey)
		if p, body := m.Read(t, id); p.Status != "SETTLED" || p.Amount != 2000 {
			t.Errorf("payment %s: %s", id, body)
		}
	}
	books, err := adapter.New(r.sim, nil)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := books.Books(t.Context(), adapter.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	done, used := map[domain.PaymentID]map[processor.Kind]int{}, map[processor.Name]bool{}
	for _, line := range lines {
		used[line.Processor] = true
		if done[line.Reference] == nil {
			done[line.Reference] = map[processor.Kind]int{}
		}
		done[line.Reference][line.Operation]++
		if line.State != processor.Succeeded || line.Amount != 2000 {
			t.Errorf("the processor's books: %+v", line)
		}
	}
	for _, id := range r.paid {
		if of := done[domain.PaymentID(id)]; len(of) != 2 || of[processor.Authorize] != 1 || of[processor.Capture] != 1 {
			t.Errorf("the processor has %v for payment %s", of, id)
		}
	}
	if len(done) != len(r.paid) {
		t.Errorf("the processor knows %d payments, %d were acknowledged", len(done), len(r.paid))
	}
	for _, n := range r.nodes {
		n.Stop()
	}
	// The log of a cluster is verified in a back-up, with its keys in a restored folder.
	f := apptest.NewBackupFolders(t)
	must := func(args ...string) (out string) {
		t.Helper()
		status, out, stderr := apptest.Invoke(t, args...)
		if status != 0 {
			t.Fatalf("%s exits %d: %s%s", args[0], status, out, stderr)
		}
		return out
	}
	must("backup", "--out", f.Out, "--keys-out", f.Keys)
	t.Setenv("PAYLEDGER_NATS_URL", "")
	t.Setenv("PAYLEDGER_MASTER_KEY", "")
	key := "--master-key-file=" + apptest.SecretFile(t, r.made.MasterKey)
	must("restore", "--from", f.Out, "--keys", f.Keys, "--data", f.Restored, key)
	if out := must("verify", "--data", f.Restored, key); !strings.Contains(out, "the log is whole: ") {
		t.Error(out)
	}
	for name := range used {
		t.Log(must("reconcile", "--data", f.Restored, key, "--processor", string(name), "--processor-url", r.sim))
	}
}
