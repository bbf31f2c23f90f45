//go:build system

package clusters

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/simulator"
)

// faultsRig is a node without views, and two with views, each a process.
type faultsRig struct {
	processor, receiver string
	api                 *apptest.Process
	views               [2]*apptest.Process
	m                   *apptest.Merchant // at the node without views
	came                chan struct{}     // receives a value when the receiver gets a message
	messages            atomic.Int64
}

func newFaultsRig(t *testing.T) *faultsRig {
	t.Helper()
	c := clustertest.Start(t, 3, nil).Formed(t)
	made := apptest.InitCluster(t, c.URL(clustertest.User), "--shards", "2")
	t.Setenv("PAYLEDGER_MASTER_KEY", made.MasterKey)
	t.Setenv("PAYLEDGER_NATS_URL", c.URL(clustertest.User))
	sim, err := simulator.New(simulator.Config{Dir: t.TempDir(), Secret: []byte("secret")})
	if err != nil {
		t.Fatal(err)
	}
	books := httptest.NewServer(sim.Handler())
	r := &faultsRig{processor: books.URL, came: make(chan struct{}, 100)}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) { // it answers nobody
		_, _ = io.Copy(io.Discard, q.Body) // else nobody notices the end of the sender
		r.messages.Add(1)
		r.came <- struct{}{}
		<-q.Context().Done()
	}))
	t.Cleanup(func() { receiver.CloseClientConnections(); receiver.Close(); sim.Close(); books.Close() })
	r.receiver = receiver.URL
	for i := range r.views {
		r.views[i] = r.serve(t, "views")
	}
	r.api = r.serve(t, "api")
	r.m = apptest.NewMerchant(r.api.Ready.API, made.APIKey)
	return r
}

func (r *faultsRig) serve(t *testing.T, role string) *apptest.Process {
	t.Helper()
	return apptest.ServeProcess(t, "--data", t.TempDir(), "--role", role, "--processor-url", r.processor, "--webhook-allow-cidr", "127.0.0.0/8", "--webhook-timeout", "5m")
}

func signal(t *testing.T, s syscall.Signal, all ...*apptest.Process) {
	t.Helper()
	for _, p := range all {
		if err := p.Command.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
}

// lists pays, and checks that the list has the payment.
func (r *faultsRig) lists(t *testing.T, order string) {
	t.Helper()
	paid, began := pay(t, r.m, order), time.Now()
	list := r.m.Must(t, "GET", "/payments?order_id="+order, r.m.Headers(), nil)
	if !strings.Contains(string(list.Body), paid.ID) {
		t.Fatalf("the list does not show payment %s: %s", paid.ID, list.Body)
	}
	if took := time.Since(began); took > time.Second {
		t.Logf("%s was listed after %s", order, took)
	}
}

// listed waits until the lists are back, and checks that they show a payment.
func (r *faultsRig) listed(t *testing.T, order, id string) {
	t.Helper()
	apptest.Eventually(t, func() bool {
		list, err := r.m.Call("GET", "/payments?order_id="+order, r.m.Headers(), nil)
		if err == nil && list.Status == http.StatusOK && !strings.Contains(string(list.Body), id) {
			t.Fatalf("the list does not show payment %s: %s", id, list.Body)
		}
		return err == nil && list.Status == http.StatusOK
	})
}

// refused checks the answers while no node with views answers.
func (r *faultsRig) refused(t *testing.T) {
	t.Helper()
	for path, kind := range map[string]string{"/payments": "application/json", "/dashboard": "text/html"} {
		a, err := r.m.Call("GET", path, r.m.Headers(), nil)
		if err != nil || a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || !strings.HasPrefix(a.Header.Get("Content-Type"), kind) {
			t.Errorf("%s without a node with views: %d %v %s %v", path, a.Status, a.Header, a.Body, err)
		}
	}
}

// midway sends a command that a node with views works on, and ends the node. The command is not
// repeated at another node, and its outcome is not guessed.
func (r *faultsRig) midway(t *testing.T, endpoint string, end func()) {
	t.Helper()
	before := r.messages.Load()
	answers := make(chan apptest.Answer, 1)
	go func() {
		a, err := r.m.Call("POST", "/management/webhook-endpoints/"+endpoint+"/test", r.m.Headers(), nil)
		if err != nil {
			a.Body = []byte(err.Error())
		}
		answers <- a
	}()
	<-r.came
	end()
	a := <-answers
	if a.Status != http.StatusServiceUnavailable || !strings.Contains(string(a.Body), "whether it recorded something is unknown") || strings.Contains(string(a.Body), "Nothing was recorded") {
		t.Errorf("a command whose node ended midway: %d %s", a.Status, a.Body)
	}
	if sent := r.messages.Load() - before; sent != 1 {
		t.Errorf("%d nodes carried the command out", sent)
	}
}

// TestRolesFaults: one node with views is frozen, then both, then both are killed in the midst of a
// command. The node without views asks the other one, repeats no command, refuses lists in words,
// and goes on with payments; nothing is done twice when a frozen node goes on.
func TestRolesFaults(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newFaultsRig(t)
	r.lists(t, "before")
	var endpoint struct{ ID string }
	r.m.Must(t, "POST", "/management/webhook-endpoints", r.m.Headers(), map[string]any{"url": r.receiver, "eventTypes": []string{"DISPUTE.STATUS"}}).Decode(t, &endpoint)

	signal(t, syscall.SIGSTOP, r.views[0])
	const flows = 8
	for i := range flows {
		r.lists(t, fmt.Sprintf("frozen-%d", i))
		r.m.Workflow(t, strings.Replace(apptest.On("AUTHORIZED", `payment.orderId == "none"`, 0, fmt.Sprintf(`{"type":"http_request","url":%q}`, r.receiver)), "on AUTHORIZED", fmt.Sprintf("flow %d", i), 1))
	}
	signal(t, syscall.SIGCONT, r.views[0])
	r.m.API = r.views[0].Ready.API // it may refuse until it has joined again
	r.listed(t, "frozen-0", "AUTHORIZED")
	r.m.API = r.api.Ready.API
	list := r.m.Must(t, "GET", "/management/workflows", r.m.Headers(), nil)
	for i := range flows {
		if n := strings.Count(string(list.Body), fmt.Sprintf(`"flow %d"`, i)); n != 1 {
			t.Errorf("flow %d was made %d times", i, n)
		}
	}

	r.midway(t, endpoint.ID, func() { signal(t, syscall.SIGSTOP, r.views[:]...) })
	r.refused(t)
	frozen := pay(t, r.m, "frozen")
	signal(t, syscall.SIGCONT, r.views[:]...)
	r.listed(t, "frozen", frozen.ID)

	r.midway(t, endpoint.ID, func() { r.views[0].Kill(); r.views[1].Kill() })
	r.refused(t)
	killed := pay(t, r.m, "killed")
	r.views[0] = r.serve(t, "views")
	r.listed(t, "killed", killed.ID)
	if sent := r.messages.Load(); sent != 2 {
		t.Errorf("two test messages were sent %d times", sent)
	}
	r.views[0].Stop()
	r.api.Stop()
}
