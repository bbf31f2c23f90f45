package intake

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// house is a Listener on this machine with its two servers. Requests of Within wait at /wait until
// released.
type house struct {
	*Listener
	t       *testing.T
	address string
	mu      sync.Mutex
	now     time.Time
	release chan struct{}
	waiting chan struct{} // a request is at /wait
	idle    chan struct{} // a connection has become idle
}

func (h *house) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *house) later(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func newHouse(t *testing.T, caps Caps) *house {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, address: inner.Addr().String(), now: time.Now(), release: make(chan struct{}), waiting: make(chan struct{}, 9), idle: make(chan struct{}, 9)}
	caps.Now, caps.WriteTimeout, caps.Tally = h.clock, time.Minute, &Tally{}
	h.Listener = Listen(inner, caps)
	within := &http.Server{ConnState: func(c net.Conn, s http.ConnState) {
		h.State(c, s)
		if s == http.StateIdle {
			h.idle <- struct{}{}
		}
	}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			h.waiting <- struct{}{}
			<-h.release
		}
		io.WriteString(w, "within")
	})}
	beyond := &http.Server{ConnContext: h.Context, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "beyond "+Why(r.Context()).String())
	})}
	beyond.SetKeepAlivesEnabled(false)
	var serving sync.WaitGroup
	serving.Go(func() { within.Serve(h.Within()) })
	serving.Go(func() { beyond.Serve(h.Beyond()) })
	t.Cleanup(func() {
		within.Close()
		beyond.Close()
		serving.Wait()
	})
	return h
}

// visitor is a client's connection.
type visitor struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

// visit connects from an address of this machine.
func (h *house) visit(from string) *visitor {
	h.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.Dial("tcp", h.address)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { conn.Close() })
	return &visitor{h.t, conn, bufio.NewReader(conn)}
}

// ask sends a request. hear reads the answer.
func (v *visitor) ask(path string) {
	io.WriteString(v.conn, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n") // an error shows when the answer is read
}

// hear reads the answer to a request and returns it; "" if the connection was closed.
func (v *visitor) hear() string {
	a, err := http.ReadResponse(v.in, nil)
	if err != nil {
		return ""
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		v.t.Error(err)
	}
	return string(text)
}

// TestCaps: connections beyond the cap are answered by the other server, and those within go on.
func TestCaps(t *testing.T) {
	h := newHouse(t, Caps{Connections: 2, Reserve: 2})
	a, b := h.visit("127.0.0.1"), h.visit("127.0.0.1")
	for _, v := range []*visitor{a, b} {
		v.ask("/")
		if got := v.hear(); got != "within" {
			t.Fatal(got)
		}
	}
	c := h.visit("127.0.0.1")
	c.ask("/")
	if got := c.hear(); got != "beyond connections" || c.hear() != "" {
		t.Errorf("a third connection: %q", got)
	}
	a.ask("/")
	if got := a.hear(); got != "within" {
		t.Errorf("the first connection: %q", got)
	}
	if n := h.caps.Tally.Of(Connections); n != 1 {
		t.Errorf("%d were counted", n)
	}
	b.conn.Close()
	for h.Open() == 2 { // until the server notices
	}
	d := h.visit("127.0.0.1")
	d.ask("/")
	if got := d.hear(); got != "within" {
		t.Errorf("in place of a closed connection: %q", got)
	}
}

// TestCapOfAddress: one address cannot take the connections of others.
func TestCapOfAddress(t *testing.T) {
	h := newHouse(t, Caps{Connections: 9, Reserve: 2, Clients: NewClients(nil, 1)})
	h.visit("127.0.0.1")
	again, other := h.visit("127.0.0.1"), h.visit("127.0.0.2")
	again.ask("/")
	other.ask("/")
	if got := again.hear(); got != "beyond address_connections" {
		t.Errorf("the same address: %q", got)
	}
	if got := other.hear(); got != "within" {
		t.Errorf("another address: %q", got)
	}
	if n := h.caps.Tally.Of(AddressConnections); n != 1 {
		t.Errorf("%d were counted", n)
	}
}

// TestMakeRoomOfAddress checks that an address at its limit gets a new connection in place of its
// own idle connection, never in place of another address's connection.
func TestMakeRoomOfAddress(t *testing.T) {
	h := newHouse(t, Caps{Connections: 9, Reserve: 2, Clients: NewClients(nil, 1)})
	other, idle := h.visit("127.0.0.2"), h.visit("127.0.0.1")
	for _, v := range []*visitor{other, idle} {
		v.ask("/")
		if got := v.hear(); got != "within" {
			t.Fatal(got)
		}
		<-h.idle
	}
	h.later(idleGrace)
	next := h.visit("127.0.0.1")
	next.ask("/")
	if got := next.hear(); got != "within" {
		t.Errorf("the new connection: %q", got)
	}
	if got := idle.hear(); got != "" {
		t.Errorf("the idle connection: %q", got)
	}
	other.ask("/")
	if got := other.hear(); got != "within" {
		t.Errorf("the other address: %q", got)
	}
}

// TestMakeRoom: when all connections are taken, the longest idle connection makes room. A
// connection that waits for its answer does not.
func TestMakeRoom(t *testing.T) {
	h := newHouse(t, Caps{Connections: 2, Reserve: 2})
	busy, idle := h.visit("127.0.0.1"), h.visit("127.0.0.1")
	busy.ask("/wait")
	<-h.waiting
	idle.ask("/")
	if got := idle.hear(); got != "within" {
		t.Fatal(got)
	}
	<-h.idle
	h.later(idleGrace)
	next := h.visit("127.0.0.1")
	next.ask("/")
	if got := next.hear(); got != "within" {
		t.Errorf("the new connection: %q", got)
	}
	if got := idle.hear(); got != "" {
		t.Errorf("the idle connection: %q", got)
	}
	close(h.release)
	if got := busy.hear(); got != "within" {
		t.Errorf("the busy connection: %q", got)
	}
	if h.caps.Tally.Of(Evicted) != 1 || h.Open() != 2 {
		t.Errorf("%d made room, %d are open", h.caps.Tally.Of(Evicted), h.Open())
	}
}

// TestReserve: connections that fill the reserve and send nothing keep no probe out.
func TestReserve(t *testing.T) {
	h := newHouse(t, Caps{Connections: 1, Reserve: 2})
	busy := h.visit("127.0.0.1")
	busy.ask("/wait")
	<-h.waiting
	silent := []*visitor{h.visit("127.0.0.1"), h.visit("127.0.0.1")}
	probe := h.visit("127.0.0.1")
	probe.ask("/readyz")
	if got := probe.hear(); !strings.HasPrefix(got, "beyond") {
		t.Errorf("the probe: %q", got)
	}
	if got := silent[0].hear(); got != "" {
		t.Errorf("the oldest connection of the reserve: %q", got)
	}
	close(h.release)
	if got := busy.hear(); got != "within" {
		t.Error(got)
	}
}

// TestReserveOfAddress: an address that fills the reserve pushes out only itself.
func TestReserveOfAddress(t *testing.T) {
	h := newHouse(t, Caps{Connections: 1, Reserve: 4})
	busy := h.visit("127.0.0.1")
	busy.ask("/wait")
	<-h.waiting
	probe := h.visit("127.0.0.2")
	crowd := make([]*visitor, 8)
	for i := range crowd {
		crowd[i] = h.visit("127.0.0.1")
	}
	for _, v := range crowd[:len(crowd)-2] {
		if got := v.hear(); got != "" {
			t.Errorf("one of the crowd: %q", got)
		}
	}
	probe.ask("/readyz")
	if got := probe.hear(); !strings.HasPrefix(got, "beyond") {
		t.Errorf("the probe: %q", got)
	}
	close(h.release)
	if got := busy.hear(); got != "within" {
		t.Error(got)
	}
}

// TestClosedWhileItBecomesIdle checks that a connection that was closed to make room no longer
// counts, even if its server reports it as idle afterwards.
func TestClosedWhileItBecomesIdle(t *testing.T) {
	h := newHouse(t, Caps{Connections: 2, Reserve: 2})
	a := h.visit("127.0.0.1")
	a.ask("/")
	if got := a.hear(); got != "within" {
		t.Fatal(got)
	}
	<-h.idle
	l := h.Listener
	l.mu.Lock()
	c := l.idle.Front().Value.(*conn)
	l.mu.Unlock()
	c.Close()
	l.State(c, http.StateIdle)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open != 0 || l.idle.Len() != 0 {
		t.Errorf("%d are open, %d idle", l.open, l.idle.Len())
	}
}
