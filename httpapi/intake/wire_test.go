package intake

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// watched is a listener whose connections report the end of their peer's sending half, and the
// sizes of their send buffers.
type watched struct {
	net.Listener
	ended   chan struct{}
	mu      sync.Mutex
	buffers []int
}

type watchedConn struct {
	net.Conn
	of *watched
}

func (w *watched) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	return watchedConn{c, w}, err
}

func (c watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, io.EOF) {
		select {
		case c.of.ended <- struct{}{}:
		default:
		}
	}
	return n, err
}

func (c watchedConn) SetWriteBuffer(n int) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.buffers = append(c.of.buffers, n)
	return c.Conn.(*net.TCPConn).SetWriteBuffer(n)
}

// served serves a handler on a loopback address, and returns the address.
func served(t testing.TB, w *watched, caps Caps, h http.HandlerFunc) string {
	t.Helper()
	var err error
	if w.Listener, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	caps.Now, caps.WriteTimeout, caps.Tally = time.Now, 30*time.Second, &Tally{}
	l := Listen(w, caps)
	server := &http.Server{Handler: h, ConnState: l.State, ConnContext: l.Context, ReadHeaderTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l.Within()) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return w.Addr().String()
}

// ask sends a GET over a connection of its own, ends the sending half if half, and returns the
// answer's body.
func ask(t testing.TB, at string, half bool) string {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if half {
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestHalfClosingClient: a client that ends its sending half after the request gets its answer; its
// request is not cancelled.
func TestHalfClosingClient(t *testing.T) {
	w := &watched{ended: make(chan struct{}, 1)}
	at := served(t, w, Caps{}, func(rw http.ResponseWriter, r *http.Request) {
		<-w.ended // the server has read the end
		select {
		case <-r.Context().Done():
			_, _ = io.WriteString(rw, "cancelled")
		case <-time.After(20 * time.Millisecond):
			_, _ = io.WriteString(rw, "answered")
		}
	})
	if got := ask(t, at, true); got != "answered" {
		t.Errorf("the request was %s", got)
	}
}

// TestLargeAnswersHaveLargeBuffers: the send buffer grows with an answer above the small one, if
// there is memory, and shrinks when the peer sends its next request or goes away.
func TestLargeAnswersHaveLargeBuffers(t *testing.T) {
	for memory, want := range map[int64]bool{2 * largeBuffer: true, largeBuffer: false, 0: false} {
		w := &watched{ended: make(chan struct{}, 1)}
		at := served(t, w, Caps{SendMemory: memory}, func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = rw.Write(make([]byte, 2*sendBuffer))
		})
		ask(t, at, false)
		w.mu.Lock()
		if grew := w.buffers[len(w.buffers)-1] == largeBuffer; grew != want {
			t.Errorf("with %d bytes of memory the buffers were %v", memory, w.buffers)
		}
		w.mu.Unlock()
	}
}

// BenchmarkLargeAnswer measures an answer of 9.6 MB on loopback, with small and with large send
// buffers.
func BenchmarkLargeAnswer(b *testing.B) {
	for name, memory := range map[string]int64{"small": 0, "large": 8 << 20} {
		b.Run(name, func(b *testing.B) {
			answer := make([]byte, 9_600_000)
			at := served(b, &watched{}, Caps{SendMemory: memory}, func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(answer) })
			b.SetBytes(int64(len(answer)))
			for b.Loop() {
				ask(b, at, false)
			}
		})
	}
}
