//go:build !system

package feed_test

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/eventstore/eventstream"
	"payledger/eventstore/feed"
)

// TestOvertaken: messages that the stream drops while the connection of a reader is broken are an
// error, not a gap.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	all, err := recorded()
	must(t, err)
	server, err := startStream(t.TempDir(), "overtaken")
	must(t, err)
	defer server.Close()
	path := filepath.Join(t.TempDir(), "reader.creds")
	must(t, addUser(server, all[0].AccountID, path))
	writer, err := server.Connect()
	must(t, err)
	defer writer.Close()
	must(t, writer.Create(t.Context(), 1, 0))
	position := uint64(0)
	publish := func() {
		position++
		text := strings.Replace(string(all[0].text), fmt.Sprintf(`"position":%d,`, all[0].Position), fmt.Sprintf(`"position":%d,`, position), 1)
		m := eventstream.Message{Position: position, Account: string(all[0].AccountID), Type: all[0].Type, ID: fmt.Sprint("id-", position), Body: []byte(text), Subject: "s"}
		must(t, writer.Publish(t.Context(), m))
		must(t, writer.Flush(t.Context()))
	}
	network := newNetwork(t, strings.TrimPrefix(server.URL(), "nats://"))
	publish()
	for e, err := range feed.NATS("nats://"+network.Addr().String(), path).Follow(t.Context(), 0) {
		switch {
		case err == nil && e.Position == 1:
			network.cut()
			publish()
			must(t, writer.Retain(t.Context(), 200*time.Millisecond))
			for { // until the server drops the second event
				state, err := writer.State(t.Context())
				if must(t, err); state.First > 2 {
					break
				}
			}
			must(t, writer.Retain(t.Context(), 0))
			publish()
			network.heal()
			continue
		case err == nil:
			t.Errorf("event %d came after event 1", e.Position)
		case !strings.Contains(err.Error(), "read the events behind position 1 over HTTP"):
			t.Error(err)
		}
		break
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// network carries connections to a server, but none after cut and before heal.
type network struct {
	net.Listener
	to    string
	mu    sync.Mutex
	down  bool
	conns []net.Conn
}

func newNetwork(t *testing.T, to string) *network {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	n := &network{Listener: l, to: to}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { n.carry(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); n.cut(); running.Wait() })
	return n
}

func (n *network) carry(conn net.Conn) {
	defer conn.Close()
	n.mu.Lock()
	down := n.down
	server, err := net.Dial("tcp", n.to)
	if err == nil {
		n.conns = append(n.conns, conn, server)
	}
	n.mu.Unlock()
	if err != nil {
		return
	}
	defer server.Close()
	if down {
		return
	}
	go func() { _, _ = io.Copy(server, conn); server.Close() }()
	_, _ = io.Copy(conn, server)
}

func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = true
	for _, conn := range n.conns {
		conn.Close()
	}
	n.conns = nil
}

func (n *network) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = false
}
