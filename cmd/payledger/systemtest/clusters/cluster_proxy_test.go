//go:build system

package clusters

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
)

// nodesProxy sends requests in turn to the nodes whose /readyz answers 200.
type nodesProxy struct {
	server *httptest.Server
	nodes  []*proxiedNode
	turn   atomic.Int64
}

// proxiedNode is a node behind the proxy.
type proxiedNode struct {
	url     string
	forward *httputil.ReverseProxy
	ready   atomic.Bool
	running atomic.Int64 // requests that were chosen for the node, and have no answer
	served  atomic.Int64
}

func newNodesProxy(t *testing.T, urls ...string) *nodesProxy {
	t.Helper()
	p := &nodesProxy{nodes: watchNodes(t, urls...)}
	for _, n := range p.nodes {
		target, err := url.Parse(n.url)
		if err != nil {
			t.Fatal(err)
		}
		n.forward = httputil.NewSingleHostReverseProxy(target)
		n.forward.Transport = &http.Transport{MaxIdleConnsPerHost: 16}
	}
	p.server = httptest.NewServer(p)
	t.Cleanup(func() {
		p.server.Close()
		for _, n := range p.nodes {
			n.forward.Transport.(*http.Transport).CloseIdleConnections()
		}
	})
	return p
}

// watchNodes asks each node again and again whether it is ready, until the test ends.
func watchNodes(t *testing.T, urls ...string) (nodes []*proxiedNode) {
	t.Helper()
	probe := &http.Client{Timeout: time.Minute}
	stop, asking := make(chan struct{}), sync.WaitGroup{}
	for _, url := range urls {
		n := &proxiedNode{url: url}
		n.ready.Store(true)
		nodes = append(nodes, n)
		asking.Go(func() {
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for {
				answer, err := probe.Get(n.url + "/readyz")
				n.ready.Store(err == nil && answer.StatusCode == http.StatusOK)
				if err == nil {
					answer.Body.Close()
				}
				select {
				case <-stop:
					return
				case <-tick.C:
				}
			}
		})
	}
	t.Cleanup(func() {
		close(stop)
		asking.Wait()
		probe.CloseIdleConnections()
	})
	return nodes
}

func (p *nodesProxy) url() string { return p.server.URL }

// ServeHTTP waits for a ready node: on a machine that stands still for a while none is ready.
func (p *nodesProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); !p.forward(w, r); <-tick.C {
		if time.Now().After(deadline) {
			http.Error(w, "no node is ready", http.StatusBadGateway)
			return
		}
	}
}

// forward sends the request to a ready node, and reports whether there was one.
func (p *nodesProxy) forward(w http.ResponseWriter, r *http.Request) bool {
	first := p.turn.Add(1)
	for i := range p.nodes { // each node once, whatever other requests choose meanwhile
		n := p.nodes[(first+int64(i))%int64(len(p.nodes))]
		n.running.Add(1)
		if n.ready.Load() {
			n.forward.ServeHTTP(w, r)
			n.running.Add(-1)
			n.served.Add(1)
			return true
		}
		n.running.Add(-1)
	}
	return false
}

// quiet waits until the proxy sends no more requests to a node: the end of the drain time.
func (p *nodesProxy) quiet(t *testing.T, i int) {
	t.Helper()
	apptest.Eventually(t, func() bool { return !p.nodes[i].ready.Load() && p.nodes[i].running.Load() == 0 })
}
