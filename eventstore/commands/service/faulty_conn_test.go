package service_test

import (
	"bytes"
	"errors"
	"net"
	"sync"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/eventstoretest"
)

// failureMode is how an effect goes wrong.
type failureMode string

const (
	refuses     failureMode = "is refused"                       // an append: the store says that it took nothing
	away        failureMode = "is refused for long"              // an append: as refuses, until the test ends it
	lostBefore  failureMode = "fails before it happened"         // the connection breaks under it
	lostAfter   failureMode = "takes effect, its answer is lost" // the connection breaks behind it
	twice       failureMode = "happens twice"                    // the same bytes, or the same operation
	crashBefore failureMode = "does not happen, the process ends"
	crashAfter  failureMode = "happens, the process ends"        // its answer is lost
	overtaken   failureMode = "is overtaken on another node"     // which recovers the payment and repeats the request
	left        failureMode = "happens, the caller is gone"      // who sent the request has hung up
	late        failureMode = "happens, nobody answers for long" // a call: past the payment timeout
	never       failureMode = "does not arrive, nobody answers"  // a call: past the payment timeout, then it is fenced
)

// readCard is the read of a card: it fails in the mode away.
const readCard = "read a card"

// errGone is the error of a broken link.
var errGone = errors.New("the link broke here")

// fault is the one fault of a row of the matrix: it happens the nth time that the effect is about to happen.
type fault struct {
	effect string // the type of an event, or "send <operation>"
	nth    int
	mode   failureMode

	mu     sync.Mutex
	seen   int
	hit    chan struct{} // closed when it went wrong
	resume chan struct{} // closed by the test: held messages continue
}

func newFault(e effect, w failureMode) *fault {
	return &fault{effect: e.on, nth: max(1, e.nth), mode: w, hit: make(chan struct{}), resume: make(chan struct{})}
}

// begin makes the fault happen from now on.
func (f *fault) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nth = 0
}

// triggers reports whether the fault happens now.
func (f *fault) triggers(effect string) bool {
	if f == nil || f.effect != effect {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen++
	if f.mode == away {
		select {
		case <-f.resume:
			return false
		default:
			return f.seen >= f.nth
		}
	}
	return f.seen == f.nth
}

// faultyConn is a process's connection to the log's server. It loses bytes of real connections.
type faultyConn struct {
	fault *fault
	inner nats.InProcessConnProvider

	mu     sync.Mutex
	dead   bool
	links  []net.Conn
	behind bool // set before the store is opened
}

// through is the option that puts the connection between a store and its server.
func (w *faultyConn) through(o *nats.Options) error {
	w.inner, o.InProcessServer = o.InProcessServer, w
	return nil
}

// InProcessConn opens one connection.
func (w *faultyConn) InProcessConn() (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return nil, errGone
	}
	server, err := w.inner.InProcessConn()
	if err != nil {
		return nil, err
	}
	w.links = append(w.links, server)
	return &link{Conn: server, conn: w}, nil
}

// cut ends all connections, for good or until heal.
func (w *faultyConn) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
	for _, l := range w.links {
		l.Close()
	}
}

// heal lets new connections through again.
func (w *faultyConn) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = false
}

// link is one connection.
type link struct {
	net.Conn
	conn *faultyConn

	mu   sync.Mutex
	deaf bool // the next acknowledgement is lost
}

// Write sends the store's bytes to the server.
func (l *link) Write(p []byte) (int, error) {
	if p = l.conn.unheard(p); l.conn.fault == nil {
		return l.Conn.Write(p)
	}
	f := l.conn.fault
	if request := []byte(".GET.SECRETS"); f.effect == readCard && bytes.Contains(p, request) && f.triggers(readCard) {
		p = bytes.ReplaceAll(p, request, []byte(".GET.NOTHING")) // there is no such stream
	}
	at := eventstoretest.Sent(p, f.effect)
	if at < 0 || !f.triggers(f.effect) {
		return l.Conn.Write(p)
	}
	switch f.mode {
	case refuses:
		defer close(f.hit)
		return l.Conn.Write(eventstoretest.Divert(p, at))
	case away:
		defer closeOnce(f.hit)
		return l.Conn.Write(eventstoretest.Divert(p, at))
	case lostBefore, crashBefore:
		l.lose()
		return 0, errGone
	case lostAfter, crashAfter:
		l.mu.Lock()
		l.deaf = true
		l.mu.Unlock()
	case twice:
		defer close(f.hit)
		if n, err := l.Conn.Write(p); err != nil {
			return n, err
		}
	case overtaken, left:
		close(f.hit)
		<-f.resume
	}
	return l.Conn.Write(p)
}

// unheard keeps a lagging store from following the log: the store knows the log as of its start, and the events that it loads from the
// leader.
func (w *faultyConn) unheard(p []byte) []byte {
	if !w.behind {
		return p
	}
	return bytes.ReplaceAll(p, []byte("CONSUMER.CREATE.LEDGER_"), []byte("CONSUMER.CREATE.NOTHING"))
}

// Read returns the server's bytes to the store.
func (l *link) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	l.mu.Lock()
	deaf := l.deaf
	l.mu.Unlock()
	if deaf && bytes.Contains(p[:n], []byte(`"stream":"LEDGER_`)) {
		l.lose()
		return 0, errGone
	}
	return n, err
}

// lose breaks the connection; at the end of a process, all of them.
func (l *link) lose() {
	if f := l.conn.fault; f.mode == crashBefore || f.mode == crashAfter {
		l.conn.cut()
	} else {
		l.Close()
	}
	close(l.conn.fault.hit)
}
