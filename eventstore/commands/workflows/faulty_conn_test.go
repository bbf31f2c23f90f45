package workflows_test

import (
	"context"
	"errors"
	"net"
	"sync"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/workflows"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/engine"
)

// failureMode is how an effect goes wrong.
type failureMode string

const (
	refuses     failureMode = "is refused"                       // an append: the store says that it took nothing
	lostBefore  failureMode = "fails before it happened"         // the connection breaks under it
	lostAfter   failureMode = "takes effect, its answer is lost" // the connection breaks behind it
	crashBefore failureMode = "does not happen, the process ends"
	crashAfter  failureMode = "happens, the process ends"
)

var errGone = errors.New("the link broke here")

// The effects that are no events.
const (
	sendCapture = "send capture"
	sendRequest = "send request"
	// writePosition is the writing of the planner's position after the runs that the planner began.
	writePosition = "write the position"
)

// fault is one failure: at the nth time that the effect is about to happen.
type fault struct {
	effect string // the type of an event, or one of the above
	nth    int
	mode   failureMode

	mu   sync.Mutex
	seen int
	hit  chan struct{} // closed when it went wrong
}

func newFault(effect string, nth int, w failureMode) *fault {
	return &fault{effect: effect, nth: nth, mode: w, hit: make(chan struct{})}
}

// triggers reports whether the fault happens now.
func (f *fault) triggers(effect string) bool {
	if f == nil || f.effect != effect {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen++
	return f.seen == f.nth
}

// sent returns the record of the effect in the bytes that are sent to the log's server; nil: they
// have none.
func (f *fault) sent(p []byte) *eventstore.Recorded {
	if f.effect == writePosition {
		return commandstest.SentBeside(p, deliverylog.PositionName("workflows"))
	}
	return commandstest.Sent(p, f.effect)
}

// faultyConn is a node's connections to everything else. It loses bytes of real connections.
type faultyConn struct {
	fault *fault
	log   *engine.Store // of another node; nil for the first one, which has no fault

	mu    sync.Mutex
	dead  bool
	links []net.Conn
}

// Dial opens one connection.
func (w *faultyConn) Dial(network, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return nil, errGone
	}
	server, err := net.Dial(network, address)
	if err != nil {
		return nil, err
	}
	w.links = append(w.links, server)
	return &link{Conn: server, conn: w}, nil
}

// cut ends all connections for good.
func (w *faultyConn) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
	for _, l := range w.links {
		l.Close()
	}
}

func (w *faultyConn) isDead() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}

// call makes a call to the outside; the process may end before or behind it.
func call[T any](w *faultyConn, effect string, do func() (T, error)) (T, error) {
	var none T
	if w.isDead() {
		return none, errGone
	}
	if !w.fault.triggers(effect) {
		return do()
	}
	defer close(w.fault.hit)
	if w.fault.mode == crashAfter || w.fault.mode == lostAfter {
		if _, err := do(); err != nil {
			return none, err
		}
	}
	if w.fault.mode == crashAfter || w.fault.mode == crashBefore {
		w.cut()
	}
	return none, errGone
}

// link is one connection.
type link struct {
	net.Conn
	conn *faultyConn
	sent commandstest.Awaited // it breaks when the log has this record
}

// Write sends the store's bytes to the server.
func (l *link) Write(p []byte) (int, error) {
	f := l.conn.fault
	if f == nil {
		return l.Conn.Write(p)
	}
	r := f.sent(p)
	if r == nil || f.mode == refuses {
		return l.Conn.Write(p)
	}
	if !f.triggers(f.effect) {
		l.sent.SentAgain(r)
		return l.Conn.Write(p)
	}
	if f.mode == lostBefore || f.mode == crashBefore {
		l.lose()
		return 0, errGone
	}
	l.sent.Await(r)
	return l.Conn.Write(p)
}

// Read returns the server's bytes to the store.
func (l *link) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if l.sent.In(l.conn.log) {
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

// refusing is a log that refuses the event of a fault.
type refusing struct {
	*engine.Store
	fault *fault // nil: none
}

func (s refusing) ExecuteUntyped(ctx context.Context, c eventstore.Command) (eventstore.Tip[any], error) {
	if s.fault == nil || s.fault.mode != refuses {
		return s.Store.ExecuteUntyped(ctx, c)
	}
	tip, refused, err := commandstest.Refuse(ctx, s.Store, c, s.fault.triggers)
	if refused {
		close(s.fault.hit)
	}
	return tip, err
}

// port is the way of one node to the processors.
type port struct {
	processor.Port
	wire *faultyConn
}

// Send carries one operation to its processor.
func (p port) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	answer, err := call(p.wire, "send "+string(op.Kind), func() (processor.Answer, error) { return p.Port.Send(ctx, op) })
	return answer, unknown(err)
}

// Lookup looks up the outcome of an operation.
func (p port) Lookup(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	found, err := call(p.wire, "look up", func() (processor.Lookup, error) { return p.Port.Lookup(ctx, name, key) })
	return found, unknown(err)
}

// Fence makes a key refused.
func (p port) Fence(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	found, err := call(p.wire, "fence", func() (processor.Lookup, error) { return p.Port.Fence(ctx, name, key) })
	return found, unknown(err)
}

func unknown(err error) error {
	if errors.Is(err, errGone) {
		return errors.Join(processor.ErrUnknown, err)
	}
	return err
}

// requests is the way of one node to receivers.
type requests struct {
	workflows.Requests
	wire *faultyConn
}

// Send carries one request to its receiver.
func (q requests) Send(ctx context.Context, r workflows.Request) (workflows.Response, error) {
	return call(q.wire, sendRequest, func() (workflows.Response, error) { return q.Requests.Send(ctx, r) })
}
