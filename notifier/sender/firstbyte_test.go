package sender

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"payledger/notifier/delivery"
	"payledger/notifier/guard"
)

var errStale = errors.New("stale")

// TestFresh: a message that is not fresh is not sent, on a new connection and on a used one, and
// the next message is.
func TestFresh(t *testing.T) {
	t.Parallel()
	var came, connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		came.Add(1)
		w.WriteHeader(http.StatusNoContent)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	s := New(Config{Guard: guard.Guard{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, Timeout: time.Minute, Now: time.Now})
	defer s.Close()
	asked := 0
	for i, fresh := range []error{errStale, nil, errStale, nil, nil} {
		before := came.Load()
		a, err := s.Attempt(t.Context(), Message{URL: server.URL, Body: Fixed([]byte("{}")), Fresh: func() error { asked++; return fresh }})
		switch sent := came.Load() - before; {
		case fresh == nil && (err != nil || a.StatusCode != http.StatusNoContent || sent != 1):
			t.Errorf("message %d: %+v %v, %d came", i, a, err, sent)
		case fresh != nil && (!errors.Is(err, ErrNotSent) || !errors.Is(err, errStale) || sent != 0):
			t.Errorf("message %d is not fresh: %+v %v, %d came", i, a, err, sent)
		}
	}
	if asked < 5 || connections.Load() >= 5 {
		t.Errorf("%d questions, %d connections: no connection was used again", asked, connections.Load())
	}
}

// pipe returns a dialer whose connections are pipes: a write waits for the reader.
func pipe(theirs chan<- net.Conn) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		ours, other := net.Pipe()
		theirs <- other
		return ours, nil
	}
}

// TestSettle checks that Settle waits for a request whose check is over and whose first byte is not
// written, and for no later one.
func TestSettle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conns := make(chan net.Conn, 1)
		s := New(Config{Timeout: time.Minute, Now: time.Now, Dial: pipe(conns)})
		checking, checked := make(chan struct{}), make(chan struct{})
		ended := make(chan delivery.Attempt, 1)
		go func() {
			a, err := s.Attempt(context.Background(), Message{URL: "http://93.184.216.34/", Body: Fixed([]byte("{}")), Fresh: func() error {
				close(checking)
				<-checked
				return nil
			}})
			if err != nil {
				t.Error(err)
			}
			ended <- a
		}()
		<-checking
		var settled atomic.Int64
		go func() { s.Settle(); settled.Add(1) }()
		synctest.Wait()
		close(checked)
		synctest.Wait() // the write waits for the reader
		if settled.Load() != 0 {
			t.Error("settled before the first byte was written")
		}
		theirs := <-conns
		if _, err := http.ReadRequest(bufio.NewReader(theirs)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if settled.Load() != 1 {
			t.Error("not settled after the first bytes were written")
		}
		s.Settle()
		if _, err := theirs.Write([]byte("HTTP/1.1 204 No Content\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		if a := <-ended; a.StatusCode != http.StatusNoContent {
			t.Errorf("%+v", a)
		}
		s.Close()
		_ = theirs.Close()
		synctest.Wait()
	})
}

// TestSettleIsBounded checks that a receiver that does not read its socket delays Settle by at most
// firstWriteTime, and that its request fails.
func TestSettleIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conns := make(chan net.Conn, 1)
		s := New(Config{Timeout: time.Minute, Now: time.Now, Dial: pipe(conns)})
		began := time.Now()
		a, err := s.Attempt(context.Background(), Message{URL: "http://93.184.216.34/", Body: Fixed([]byte("{}")), Fresh: func() error { return nil }})
		if took := time.Since(began); err != nil || a.Failure == "" || took != firstWriteTime {
			t.Errorf("%+v %v after %s", a, err, took)
		}
		s.Close()
		theirs := <-conns
		_ = theirs.Close()
		synctest.Wait()
	})
}
