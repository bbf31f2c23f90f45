//go:build system

package clusters

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/nodes"
	"payledger/processorsim/simulator"
)

// halfway holds requests back while it is shut: it notes that a request came, and answers none
// until its sender is gone. While it is open, a request counts if the same request was held: then
// the work of its sender goes on elsewhere.
type halfway struct {
	mu    sync.Mutex
	shut  bool
	known map[string]bool          // bodies of held requests
	held  map[string]chan struct{} // closed when a request with the mark was held
	later map[string]chan struct{} // closed when a held request with the mark came again while it was open
}

func newHalfway() *halfway {
	return &halfway{known: map[string]bool{}, held: map[string]chan struct{}{}, later: map[string]chan struct{}{}}
}

func (h *halfway) set(shut bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shut = shut
}

// came notes a request with a mark. It reports whether the request is held.
func (h *halfway) came(mark, body string) (held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.shut && !h.known[mark+body] {
		return false
	}
	in := h.later
	if h.shut {
		h.known[mark+body] = true
		in = h.held
	}
	select {
	case <-h.at(in, mark):
	default:
		close(h.at(in, mark))
	}
	return h.shut
}

// at returns the signal of a mark. The caller holds the lock.
func (h *halfway) at(in map[string]chan struct{}, mark string) chan struct{} {
	if in[mark] == nil {
		in[mark] = make(chan struct{})
	}
	return in[mark]
}

func (h *halfway) wait(t *testing.T, in map[string]chan struct{}, mark string) time.Time {
	t.Helper()
	h.mu.Lock()
	signal := h.at(in, mark)
	h.mu.Unlock()
	select {
	case <-signal:
		return time.Now()
	case <-time.After(apptest.SettleDeadline):
		t.Fatalf("%s did not come", mark)
		return time.Time{}
	}
}

// signedAt is the only part of a webhook's body that differs between attempts.
var signedAt = regexp.MustCompile(`"signedAt":"[0-9]+"`)

// takeoverRig is a cluster whose nodes send to one receiver.
type takeoverRig struct {
	receiver, key string
	books         *url.URL // of the processors
	hooks         *halfway
}

// takeoverNode is a node with its own way to the processors.
type takeoverNode struct {
	*apptest.Process
	holds atomic.Bool   // requests go through, and their answers do not arrive
	held  chan struct{} // receives a value when an answer is held
}

// serve starts a node.
func (r *takeoverRig) serve(t *testing.T) *takeoverNode {
	t.Helper()
	n := &takeoverNode{held: make(chan struct{}, 1)}
	forward := httputil.NewSingleHostReverseProxy(r.books)
	processor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		if !n.holds.Load() {
			forward.ServeHTTP(w, q)
			return
		}
		if q.Method == http.MethodPost {
			forward.ServeHTTP(httptest.NewRecorder(), q)
			select {
			case n.held <- struct{}{}:
			default:
			}
		}
		<-q.Context().Done()
	}))
	t.Cleanup(func() { processor.CloseClientConnections(); processor.Close() })
	n.Process = apptest.ServeProcess(t, "--data", t.TempDir(), "--processor-url", processor.URL, "--webhook-allow-cidr", "127.0.0.0/8", "--webhook-timeout", "5m", "--payment-timeout", "5m")
	return n
}

// TestClusterTakeover: a node dies, by kill -9 or by SIGSTOP, while it sends a webhook, performs a
// workflow's action and waits for a processor. The other node goes on with all of it, and with
// checkpoints.
func TestClusterTakeover(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	longest := nodes.DefaultBeat + nodes.DefaultAbsence + nodes.DefaultBeat + time.Second // seen late, noticed late, asked late
	if longest > 10*time.Second || nodes.DefaultTenure >= nodes.DefaultAbsence {
		t.Errorf("a takeover begins after %s", longest)
	}
	c := clustertest.Start(t, 3, nil).Formed(t)
	made := apptest.InitCluster(t, c.URL(clustertest.User), "--shards", "2")
	t.Setenv("PAYLEDGER_MASTER_KEY", made.MasterKey)
	t.Setenv("PAYLEDGER_NATS_URL", c.URL(clustertest.User))
	sim, err := simulator.New(simulator.Config{Dir: t.TempDir(), Secret: []byte("secret")})
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	books := httptest.NewServer(sim.Handler())
	defer books.Close()
	r := newTakeoverRig(t, made.APIKey, books.URL)
	first := r.serve(t)
	for _, end := range []struct {
		name string
		do   func(*apptest.Process)
	}{
		{"kill -9", (*apptest.Process).Kill},
		{"SIGSTOP", func(p *apptest.Process) {
			if err := p.Command.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		first = r.takeover(t, first, end.name, end.do)
	}
	first.Stop()
}

// newTakeoverRig starts the receiver.
func newTakeoverRig(t *testing.T, key, books string) *takeoverRig {
	t.Helper()
	r := &takeoverRig{key: key, hooks: newHalfway()}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		if body, err := io.ReadAll(q.Body); err == nil && r.hooks.came(q.URL.Path, signedAt.ReplaceAllString(string(body), "")) {
			<-q.Context().Done()
		}
	}))
	t.Cleanup(func() { receiver.CloseClientConnections(); receiver.Close() })
	r.receiver = receiver.URL
	var err error
	if r.books, err = url.Parse(books); err != nil {
		t.Fatal(err)
	}
	return r
}

// takeover gives a node work of each kind, starts another node, ends the first one, and measures
// until the other one goes on. It returns the other node.
func (r *takeoverRig) takeover(t *testing.T, dies *takeoverNode, name string, end func(*apptest.Process)) (other *takeoverNode) {
	t.Helper()
	r.hooks.set(true)
	tag := strings.ReplaceAll(name, " ", "")
	hook, run, flowOrder, heldOrder := "/hook"+tag, "/run"+tag, "flow"+tag, "held"+tag
	m := apptest.NewMerchant(dies.Ready.API, r.key)
	m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": r.receiver + hook, "eventTypes": []string{"PAYMENT.STATUS"}})
	m.Workflow(t, apptest.On("AUTHORIZED", fmt.Sprintf("payment.orderId == %q", flowOrder), 0, fmt.Sprintf(`{"type":"http_request","url":%q}`, r.receiver+run)))
	if answer, err := m.Pay(m.Token(t, flowOrder, 2000, "4111111111111111"), ""); err != nil || answer.Status != http.StatusOK {
		t.Fatalf("pay: %d %s %v", answer.Status, answer.Body, err)
	}
	r.hooks.wait(t, r.hooks.held, hook)
	r.hooks.wait(t, r.hooks.held, run)
	token := m.Token(t, heldOrder, 2000, "4111111111111111")
	dies.holds.Store(true)
	go m.Pay(token, "held-"+token) // no answer comes
	<-dies.held
	other = r.serve(t)
	at := apptest.NewMerchant(other.Ready.API, r.key)
	r.hooks.set(false)
	end(dies.Process)
	ended := time.Now()
	took := map[string]time.Duration{}
	took["webhook"] = r.hooks.wait(t, r.hooks.later, hook).Sub(ended)
	took["workflow run"] = r.hooks.wait(t, r.hooks.later, run).Sub(ended)
	apptest.Eventually(t, func() bool {
		list := at.Must(t, "GET", "/payments?order_id="+heldOrder, at.Headers(), nil)
		took["unfinished operation"] = time.Since(ended)
		return strings.Contains(string(list.Body), `"AUTHORIZED"`)
	})
	answer, err := at.Pay(at.Token(t, "next"+tag, 2000, "4111111111111111"), "")
	if err != nil || answer.Status != http.StatusOK {
		t.Fatalf("pay: %d %s %v", answer.Status, answer.Body, err)
	}
	var p apptest.PaymentAnswer
	answer.Decode(t, &p)
	apptest.Eventually(t, func() bool {
		proof, err := at.Call("GET", "/payments/"+p.ID+"/proof", at.Headers(), nil)
		took["checkpoint"] = time.Since(ended)
		return err == nil && proof.Status == http.StatusOK
	})
	for kind, d := range took {
		t.Logf("%s: %s goes on after %.1f s", name, kind, d.Seconds())
	}
	return other
}
