package jetapi_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/jetapi"
)

// TestPingBeforePong: if the server's own PING comes before its PONG, Connect tries again, a few
// times. It returns another error at once.
func TestPingBeforePong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []string // to the connections' first PING
		tries   int
		err     string // "": connected
	}{
		"once":          {[]string{"PING", "PONG"}, 2, ""},
		"always":        {[]string{"PING"}, 5, "expected 'PONG', got 'PING'"},
		"another error": {[]string{"-ERR 'Authorization Violation'"}, 1, "Authorization Violation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			tries := make(chan int, 1)
			go func() {
				n := 0
				for {
					conn, err := server.Accept()
					if err != nil {
						tries <- n
						return
					}
					answer := c.answers[min(n, len(c.answers)-1)]
					n++
					t.Cleanup(func() { _ = conn.Close() })
					_, _ = io.WriteString(conn, `INFO {"server_id":"x","version":"2.15.3","max_payload":1048576,"proto":1}`+"\r\n")
					lines := bufio.NewScanner(conn)
					for lines.Scan() && lines.Text() != "PING" {
					}
					_, _ = io.WriteString(conn, answer+"\r\n")
				}
			}()
			nc, err := jetapi.Connect("nats://"+server.Addr().String(), nats.NoReconnect())
			if err == nil {
				nc.Close()
			}
			_ = server.Close()
			if n := <-tries; n != c.tries {
				t.Errorf("tried %d times, want %d", n, c.tries)
			}
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%v, want %q", err, c.err)
			}
		})
	}
}

// TestReadsNoMore: a server that stops reading, without closing the connection, is left for another
// one. Without a limit on a write, the write would hold the connection's lock for a minute.
func TestReadsNoMore(t *testing.T) {
	t.Parallel()
	deaf, urls := make(chan struct{}), []string{}
	for range 2 {
		server, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Close() })
		urls = append(urls, "nats://"+server.Addr().String())
		first := len(urls) == 1
		go func() {
			for {
				conn, err := server.Accept()
				if err != nil {
					return
				}
				t.Cleanup(func() { _ = conn.Close() })
				go answer(conn, first, deaf)
			}
		}()
	}
	moved := make(chan struct{})
	nc, err := nats.Connect(strings.Join(urls, ","), append(jetapi.External(), nats.DontRandomize(), nats.ReconnectHandler(func(*nats.Conn) { close(moved) }))...)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	close(deaf)
	for body := make([]byte, 64<<10); ; {
		select {
		case <-moved:
			return
		case <-ctx.Done():
			t.Fatal("the connection still belongs to the server that reads nothing")
		default:
			_ = nc.Publish("x", body) // fails while there is no connection
		}
	}
}

// answer is the server's side of a connection: it answers pings. With becomesDeaf it reads nothing
// more after deaf is closed.
func answer(conn net.Conn, becomesDeaf bool, deaf <-chan struct{}) {
	_, _ = io.WriteString(conn, `INFO {"server_id":"x","version":"2.15.3","max_payload":1048576,"proto":1}`+"\r\n")
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if strings.HasPrefix(line, "PING") {
			_, _ = io.WriteString(conn, "PONG\r\n")
			if becomesDeaf {
				<-deaf
				return
			}
		}
	}
}
