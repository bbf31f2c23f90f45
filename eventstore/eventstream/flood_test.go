package eventstream_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/eventstream"
)

// answered reports whether the gate answers a user.
func (u *user) answered(timeout time.Duration) error {
	_, err := u.Request("$JS.API.STREAM.INFO.EVENTS", nil, timeout)
	return err
}

// again waits until the gate answers a user.
func (u *user) again(t testing.TB) {
	t.Helper()
	var err error
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); {
		if err = u.answered(time.Second); err == nil {
			return
		}
		if errors.Is(err, nats.ErrConnectionClosed) {
			break
		}
	}
	t.Fatal("the user gets no answer any more: ", err)
}

// TestLongSubjects: reply subjects and acknowledgements of any length and form do not end a
// connection of the gate, and get no answer that is longer than a line of the protocol.
func TestLongSubjects(t *testing.T) {
	t.Parallel()
	r := newRig(t, 64<<20)
	theirPath, _ := r.credentials(t, theirs)
	path, _ := r.credentials(t, ours)
	v, u := r.connect(t, theirPath), r.connect(t, path)
	inboxes, err := u.SubscribeSync("_INBOX.>")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{257, 1000, 3900, 4000, 4020, 4030, 4040, 4050, 4055, 4060} {
		w := r.connect(t, path) // the server closes it, if the line is too long
		for _, subject := range []string{"$JS.API.STREAM.NAMES", "$JS.API.CONSUMER.MSG.NEXT.EVENTS.a", "$JS.ACK.EVENTS.0ours_a.1.1.1.1.1"} {
			_ = w.PublishRequest(subject, "_INBOX."+strings.Repeat("x", n-len(subject)), nil)
			_ = w.Flush()
		}
		_ = w.PublishRequest("$JS.ACK.EVENTS.0ours_"+strings.Repeat("x", n-40), "_INBOX.x", nil)
		_ = w.Flush()
		w.Close()
	}
	for _, reply := range []string{"_INBOX.a..b", "_INBOX..a", "_INBOX.a.", "_INBOX."} {
		_ = u.PublishRequest("$JS.API.STREAM.NAMES", reply, nil)
	}
	u.barrier(t)
	v.again(t)
	if lost := r.lost.Load(); lost > 0 {
		t.Errorf("%d connections of gates ended", lost)
	}
	for n, _, err := inboxes.Pending(); n > 0 || err != nil; n, _, err = inboxes.Pending() {
		m, err := inboxes.NextMsg(time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Subject) > 300 || strings.Contains(m.Subject+".", "..") {
			t.Errorf("an answer comes to %q", m.Subject)
		}
	}
}

// TestGateOpensAgain: when the server ends the gates' connections, the gates open again without a
// restart.
func TestGateOpensAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, 64<<20)
	theirPath, _ := r.credentials(t, theirs)
	path, _ := r.credentials(t, ours)
	v, u := r.connect(t, theirPath), r.connect(t, path)
	if err := errors.Join(v.answered(patience), u.answered(patience)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if ended, err := r.EndServiceConnections(); err != nil || ended < 2 {
			t.Fatalf("%d connections ended, %v", ended, err)
		}
		u.again(t)
		v.again(t)
	}
	if lost := r.lost.Load(); lost != 6 {
		t.Errorf("%d lost connections were reported, expected 6", lost)
	}
	if err := r.Restart(); err != nil {
		t.Fatal(err)
	}
	r.Admit()
	r.connect(t, path).again(t)
}

// TestFlood: while a merchant floods its gate, another merchant gets answers. After the flood the
// merchant gets answers again.
func TestFlood(t *testing.T) {
	t.Parallel()
	big := []byte(strings.Repeat("x", 15_000))
	for name, request := range map[string]struct {
		subject string
		body    []byte
	}{
		"info": {"$JS.API.STREAM.INFO.EVENTS", big}, "acknowledgement": {"$JS.ACK.EVENTS.0ours_x.1.1.1.1.1", big},
		"next":   {"$JS.API.CONSUMER.MSG.NEXT.EVENTS.x", big},
		"create": {"$JS.API.CONSUMER.CREATE.EVENTS.x", []byte(`{"stream_name":"EVENTS","config":{"name":"x","description":"` + strings.Repeat("x", 2000) + `"}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 64<<20)
			theirPath, _ := r.credentials(t, theirs)
			path, _ := r.credentials(t, ours)
			v := r.connect(t, theirPath)
			done := make(chan struct{})
			var flood sync.WaitGroup
			for range r.connectionsOf(t, path) {
				u := r.connect(t, path)
				flood.Go(func() {
					for {
						select {
						case <-done:
							return
						default:
							if u.PublishRequest(request.subject, "_INBOX.z", request.body) != nil {
								return
							}
						}
					}
				})
			}
			for n := range 10 {
				if err := v.answered(patience); err != nil {
					t.Errorf("request %d of the other merchant: %v", n, err)
				}
			}
			close(done)
			flood.Wait()
			r.connect(t, path).again(t)
			v.again(t)
			t.Logf("the gate lost %d connections", r.lost.Load())
		})
	}
}

// connectionsOf returns the number of connections that an account may have, less one.
func (r *rig) connectionsOf(t testing.TB, path string) int {
	t.Helper()
	var all []*nats.Conn
	for {
		conn, err := nats.Connect(r.URL(), nats.UserCredentials(path), nats.NoReconnect(), patient)
		if err != nil {
			break
		}
		all = append(all, conn)
	}
	for _, conn := range all {
		conn.Close()
	}
	if len(all) < 2 {
		t.Fatalf("an account has %d connections", len(all))
	}
	return len(all) - 1
}

// TestStrangers: connections that never authenticate themselves use none of the service's
// connections. From one address they use at most half of the other connections.
func TestStrangers(t *testing.T) {
	t.Parallel()
	r := newRig(t, 8<<20) // 16 connections, 8 from an address
	path, _ := r.credentials(t, ours)
	// from opens a connection from an address. first is the server's first line.
	from := func(address string) (conn net.Conn, first string) {
		t.Helper()
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
		conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(r.URL(), "nats://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		first, err = bufio.NewReader(conn).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return conn, first
	}
	for round := 0; round < 2; {
		var strangers []net.Conn
		var wrong []string
		began := time.Now()
		for _, address := range []string{"127.0.0.1", "127.0.0.2"} {
			for n := range 9 {
				conn, first := from(address)
				for limit := time.Now().Add(time.Minute); n < 8 && !strings.HasPrefix(first, "INFO ") && time.Now().Before(limit); {
					_ = conn.Close() // the server still counts connections that have ended
					conn, first = from(address)
				}
				if n < 8 != strings.HasPrefix(first, "INFO ") {
					wrong = append(wrong, fmt.Sprintf("connection %d from %s: %s", n, address, first))
				}
				strangers = append(strangers, conn)
			}
		}
		if _, first := from("127.0.0.3"); !strings.Contains(first, "maximum connections exceeded") {
			wrong = append(wrong, fmt.Sprintf("a further connection: %s", first))
		}
		if len(wrong) > 0 && time.Since(began) > 4*time.Second { // the server ends a connection that does not authenticate itself in 5 s
			for _, conn := range strangers {
				_ = conn.Close()
			}
			continue
		}
		if round++; len(wrong) > 0 {
			t.Error(strings.Join(wrong, "\n"))
		}
		again, err := r.Connect()
		if err != nil {
			t.Fatal("the service itself does not connect: ", err)
		}
		again.Close()
		r.write(t, 1, 10)
		for _, conn := range strangers {
			_ = conn.Close()
		}
		for limit := time.Now().Add(time.Minute); ; {
			conn, err := nats.Connect(r.URL(), nats.UserCredentials(path), nats.NoReconnect(), patient)
			if err == nil {
				conn.Close()
				break
			}
			if time.Now().After(limit) {
				t.Fatalf("round %d: the analyst does not connect: %v", round, err)
			}
		}
	}
}

// TestServerDoesNotStart: if the NATS server does not start, Start returns no error, and Restart
// tries again on the same address.
func TestServerDoesNotStart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "analytics")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := eventstream.Start(eventstream.Config{Dir: dir, Listen: "127.0.0.1:0", Derive: derive, Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if _, err := s.Connect(); !errors.Is(err, eventstream.ErrFailed) {
		t.Errorf("Connect returns %v", err)
	}
	r := &rig{Server: s}
	path, _ := r.credentials(t, ours)
	if err := s.Restart(); err == nil {
		t.Error("it restarts in a file")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	s.Admit()
	r.connect(t, path)
}
