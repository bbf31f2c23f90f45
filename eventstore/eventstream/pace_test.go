package eventstream

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// TestPace: connections that are refused reach the server 64 times, and then only at a pace. A client that gives up while it waits does
// not reach the server. A client that has waited does, once it is its turn.
func TestPace(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var tries atomic.Int64
	refuse := func() (net.Conn, error) {
		tries.Add(1)
		ours, theirs := net.Pipe()
		return ours, theirs.Close()
	}
	f := &front{listener: listener, backend: refuse, limit: limits{connections: 1000}} // no further tries per second
	f.run()
	defer f.close()
	connect := func() net.Conn {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	for range 1 + refusalsAtOnce {
		conn := connect()
		if _, err := io.ReadAll(conn); err != nil { // until it is closed
			t.Fatal(err)
		}
		_ = conn.Close()
	}
	if n := tries.Load(); n != 1+refusalsAtOnce {
		t.Fatalf("%d connections reached the server", n)
	}
	left, waiting := connect(), connect()
	_ = left.Close()
	open := func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.open)
	}
	for open() != 1 { // the one that left is gone, the other one waits; both may not have been accepted yet
		<-time.After(time.Millisecond)
	}
	if n := tries.Load(); n != 1+refusalsAtOnce {
		t.Errorf("%d connections reached the server, one of them out of turn", n)
	}
	for range maxWaiting - 1 {
		defer connect().Close()
	}
	for open() != maxWaiting {
		<-time.After(time.Millisecond)
	}
	one := connect()
	if text, err := io.ReadAll(one); err != nil || !strings.HasPrefix(string(text), "-ERR") {
		t.Errorf("one more that waits gets %q, %v", text, err)
	}
	_ = one.Close()
	f.pace.mu.Lock()
	f.pace.slow[netip.MustParseAddr("127.0.0.1")].SetLimit(rate.Inf)
	f.pace.mu.Unlock()
	if _, err := io.ReadAll(waiting); err != nil {
		t.Error(err)
	}
	if n := tries.Load(); n < 2+refusalsAtOnce {
		t.Errorf("%d connections reached the server, the one that waited is missing", n)
	}
	_ = waiting.Close()
}
