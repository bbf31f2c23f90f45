package commandstest

import (
	"bytes"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"payledger/eventstore/engine"
)

// ReadCard is the read of a card: it fails in the mode away.
const ReadCard = "read a card"

// AnyWrite is any request that changes the log or the stream of secrets. It fails before it
// happens.
const AnyWrite = "change a stream"

// SecretWrite is any request that changes the stream of secrets. It fails before it happens. The
// requests for an event, of which there can be several, are none.
const SecretWrite = "change the secrets"

var writes = map[string][]string{
	AnyWrite:    {"HPUB ledger.", "HPUB payledger.drafts.", "PUB secrets.", "PUB $JS.API.STREAM.MSG.DELETE.", "PUB $JS.API.STREAM.PURGE."},
	SecretWrite: {"PUB secrets.", "PUB $JS.API.STREAM.MSG.DELETE.", "PUB $JS.API.STREAM.PURGE."},
}

// writesIn reports whether bytes to the server have a request of AnyWrite or SecretWrite.
func writesIn(p []byte, effect string) bool {
	return slices.ContainsFunc(writes[effect], func(request string) bool { return bytes.Contains(p, []byte(request)) })
}

// ErrGone is the error of a broken link.
var ErrGone = errors.New("the link broke here")

// FaultyConn is a process's connection to the log's server. It loses bytes of real connections.
type FaultyConn struct {
	fault *Fault
	log   *engine.Store // of another process

	mu    sync.Mutex
	dead  bool
	links []net.Conn

	// These are set before NewNodeOn.
	Behind   bool          // the store stays at the state of its start
	Patience time.Duration // of a read without an answer; 0: a minute
}

// Dial opens one connection.
func (w *FaultyConn) Dial(network, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return nil, ErrGone
	}
	server, err := net.Dial(network, address)
	if err != nil {
		return nil, err
	}
	w.links = append(w.links, server)
	return &link{Conn: server, conn: w}, nil
}

// Cut ends all connections, for good or until Heal.
func (w *FaultyConn) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
	for _, l := range w.links {
		l.Close()
	}
}

// Heal lets new connections through again.
func (w *FaultyConn) Heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = false
}

// link is one connection.
type link struct {
	net.Conn
	conn *FaultyConn
	sent Awaited // it breaks when the log has this record
}

// Write sends the store's bytes to the server.
func (l *link) Write(p []byte) (int, error) {
	if p = l.conn.unheard(p); l.conn.fault == nil {
		return l.Conn.Write(p)
	}
	f := l.conn.fault
	if request := []byte(".GET.SECRETS"); f.effect == ReadCard && bytes.Contains(p, request) && f.triggers(ReadCard) {
		p = bytes.ReplaceAll(p, request, []byte(".GET.NOTHING")) // there is no such stream
	}
	if writesIn(p, f.effect) && f.triggers(f.effect) {
		l.lose()
		return 0, ErrGone
	}
	r := Sent(p, f.effect)
	if r == nil || f.refuses() {
		return l.Conn.Write(p)
	}
	if !f.triggers(f.effect) {
		l.sent.SentAgain(r)
		return l.Conn.Write(p)
	}
	switch f.Mode {
	case LostBefore, CrashBefore:
		l.lose()
		return 0, ErrGone
	case LostAfter, CrashAfter:
		l.sent.Await(r)
	case Twice:
		defer close(f.Hit)
		if n, err := l.Conn.Write(p); err != nil {
			return n, err
		}
	case Overtaken, Left:
		close(f.Hit)
		<-f.Resume
	}
	return l.Conn.Write(p)
}

// unheard keeps a lagging store from following the log: the store knows the log as of its start,
// and the events up to which the owner of the shard answers it.
func (w *FaultyConn) unheard(p []byte) []byte {
	if !w.Behind {
		return p
	}
	p = bytes.ReplaceAll(p, []byte(`"last_by_subj":"ledger.`), []byte(`"last_by_subj":"nobody.`))
	return bytes.ReplaceAll(p, []byte("CONSUMER.CREATE.LEDGER_"), []byte("CONSUMER.CREATE.NOTHING"))
}

// Read returns the server's bytes to the store.
func (l *link) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if l.sent.In(l.conn.log) {
		l.lose()
		return 0, ErrGone
	}
	return n, err
}

// lose breaks the connection; at the end of a process, all of them.
func (l *link) lose() {
	if l.conn.fault.Mode.Ends() {
		l.conn.Cut()
	} else {
		l.Close()
	}
	close(l.conn.fault.Hit)
}
