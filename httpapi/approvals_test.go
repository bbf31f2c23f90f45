package httpapi_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"payledger/httpapi"
)

// approvals is how many merchants' calls approve one attempt at the same time.
const approvals = 1000

// pipes are in-process connections to a server. They need no file descriptors, so the process's
// limit does not bound their number.
type pipes struct {
	made   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{made: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.made:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// dial makes a connection, wherever to.
func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	mine, theirs := net.Pipe()
	select {
	case p.made <- theirs:
		return mine, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestThousandApprovals: a thousand approvals of one attempt at the same time make one payment: one
// authorization at the processor, and the same answer for all (§3.3, D5).
func TestThousandApprovals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(manualSession)
	id := r.attempt(client, r.tokenize(client, goodCard))
	before := r.events()
	api, err := httpapi.New(r.config)
	must(t, err)
	connections := newPipes()
	server := httptest.NewUnstartedServer(api)
	must(t, server.Listener.Close())
	server.Listener = connections
	server.Start()
	defer server.Close()
	transport := &http.Transport{MaxIdleConnsPerHost: approvals, DialContext: connections.dial}
	defer transport.CloseIdleConnections()
	var calls, ready sync.WaitGroup
	var answered sync.Map
	var failed atomic.Int64
	start := make(chan struct{})
	ready.Add(approvals)
	for range approvals {
		calls.Go(func() {
			q, err := http.NewRequest(http.MethodPost, server.URL+"/payment-attempts/"+id+"/approve", strings.NewReader("{}"))
			if err != nil {
				t.Error(err)
			}
			q.Header = http.Header{"X-Api-Key": {r.account.APIKey}, "X-Api-Version": {"2.4"}, "Content-Type": {"application/json"}}
			ready.Done()
			<-start
			answer, err := transport.RoundTrip(q)
			if err != nil {
				failed.Add(1)
				t.Error(err)
				return
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != http.StatusOK {
				failed.Add(1)
				t.Errorf("%d %s %v", answer.StatusCode, text, err)
			}
			count, _ := answered.LoadOrStore(string(text), new(atomic.Int64))
			count.(*atomic.Int64).Add(1)
		})
	}
	ready.Wait()
	close(start)
	calls.Wait()
	texts := 0
	answered.Range(func(text, count any) bool {
		texts++
		t.Logf("%d times %s", count.(*atomic.Int64).Load(), text)
		return true
	})
	list := r.want(r.get("/payments"), 200, "").field("data").([]any)
	lines := r.books("")
	t.Logf("%d approvals: %d failed, %d different answers, %d payments, %d authorizations at the processors, %d events",
		approvals, failed.Load(), texts, len(list), len(lines), r.events()-before)
	if texts != 1 || len(list) != 1 || len(lines) != 1 || failed.Load() != 0 {
		t.Error("one approval is not like the other")
	}
	if n := r.events() - before; n != 5 { // approved, used, created, authorized, completed
		t.Errorf("%d events for one payment", n)
	}
}
