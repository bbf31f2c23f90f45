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

// TestPace: the server refuses 64 connections of an address. Then further connections of the
// address wait. A client that gives up while it waits does not reach the server. A client that
// waits long enough reaches the server.
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
	awaitOpen := func(n int) {
		open := func() int {
			f.mu.Lock()
			defer f.mu.Unlock()
			return len(f.open)
		}
		for open() != n {
			<-time.After(time.Millisecond)
		}
	}
	awaitOpen(0)
	awaitWaiting := func(n int) {
		waiting := func() int {
			f.pace.mu.Lock()
			defer f.pace.mu.Unlock()
			return f.pace.slow[netip.MustParseAddr("127.0.0.1")].waiting
		}
		for waiting() != n {
			<-time.After(time.Millisecond)
		}
	}
	left, waiting := connect(), connect()
	awaitWaiting(2)
	_ = left.Close()
	awaitWaiting(1) // the client that gave up is gone, the other waits
	if n := tries.Load(); n != 1+refusalsAtOnce {
		t.Errorf("%d connections reached the server, one of them too early", n)
	}
	for range maxWaiting - 1 {
		defer connect().Close()
	}
	awaitWaiting(maxWaiting)
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

// TestPaceOfHastyClients: clients that send credentials and leave count like refused ones. Clients
// that send nothing do not.
func TestPaceOfHastyClients(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	arrived := make(chan struct{}, 1000)
	serve := func() (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			arrived <- struct{}{}
			_, _ = io.Copy(io.Discard, theirs)
		}()
		return ours, nil
	}
	f := &front{listener: listener, backend: serve, limit: limits{connections: 1000}}
	f.pace.hasty = time.Hour
	f.run()
	defer f.close()
	connect := func(text string) {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		<-arrived
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
	}
	slowed := func() bool {
		f.pace.mu.Lock()
		defer f.pace.mu.Unlock()
		return f.pace.slow[netip.MustParseAddr("127.0.0.1")] != nil
	}
	idle := func() {
		for {
			f.mu.Lock()
			open := len(f.open)
			f.mu.Unlock()
			if open == 0 {
				return
			}
			<-time.After(time.Millisecond)
		}
	}
	for range 2 * refusalsAtOnce {
		connect("")
	}
	if idle(); slowed() {
		t.Error("clients that send nothing are slowed down")
	}
	connect("CONNECT {}\r\n")
	if idle(); !slowed() {
		t.Error("a client that sends credentials and leaves is not counted")
	}
}
