package commandstest

import (
	"context"
	"sync"

	"payledger/eventstore"
)

// FailureMode is how an effect goes wrong.
type FailureMode string

const (
	Refuses     FailureMode = "is refused"                       // an append: the store says that it took nothing
	Away        FailureMode = "is refused for long"              // an append: as Refuses, until the test ends it
	LostBefore  FailureMode = "fails before it happened"         // the connection breaks under it
	LostAfter   FailureMode = "takes effect, its answer is lost" // the connection breaks behind it
	Twice       FailureMode = "happens twice"                    // the same bytes, or the same operation
	CrashBefore FailureMode = "does not happen, the process ends"
	CrashAfter  FailureMode = "happens, the process ends"        // its answer is lost
	Overtaken   FailureMode = "is overtaken on another node"     // which recovers the payment and repeats the request
	Left        FailureMode = "happens, the caller is gone"      // who sent the request has hung up
	Late        FailureMode = "happens, nobody answers for long" // a call: past the payment timeout
	Never       FailureMode = "does not arrive, nobody answers"  // a call: past the payment timeout; then a caller's operation is fenced
)

// AppendModes are the failure modes of an appended event after which no process connects again:
// that takes seconds.
var AppendModes = []FailureMode{Refuses, Twice, CrashBefore, CrashAfter, Overtaken}

// Ends reports whether the process ends.
func (m FailureMode) Ends() bool { return m == CrashBefore || m == CrashAfter }

// Fault is the one fault of a process: it happens the nth time that the effect is about to happen.
type Fault struct {
	effect string // the type of an event, or "send <operation>"
	nth    int
	Mode   FailureMode

	mu     sync.Mutex
	once   sync.Once // of Hit, for refusals
	seen   int
	Hit    chan struct{} // closed when the effect went wrong
	Resume chan struct{} // closed by the test: held messages continue
}

// NewFault returns a fault of the first time that the effect is about to happen.
func NewFault(on string, w FailureMode) *Fault { return NewNthFault(on, 1, w) }

// NewNthFault returns a fault of the nth time that the effect is about to happen.
func NewNthFault(on string, nth int, w FailureMode) *Fault {
	return &Fault{effect: on, nth: nth, Mode: w, Hit: make(chan struct{}), Resume: make(chan struct{})}
}

// Begin makes the fault happen from now on.
func (f *Fault) Begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nth = 0
}

// Arm makes the fault happen the nth time from now on that the effect is about to happen.
func (f *Fault) Arm(nth int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen, f.nth = 0, nth
}

// refuses reports whether the store refuses an event, so that nothing is sent.
func (f *Fault) refuses() bool { return f.Mode == Refuses || f.Mode == Away }

// refusing is a log that refuses the event of a fault.
type refusing struct {
	eventstore.Store
	fault *Fault // nil: none
}

func (l *refusing) ExecuteUntyped(ctx context.Context, c eventstore.Command) (eventstore.Tip[any], error) {
	if l.fault == nil || !l.fault.refuses() {
		return l.Store.ExecuteUntyped(ctx, c)
	}
	tip, refused, err := Refuse(ctx, l.Store, c, l.fault.triggers)
	if refused {
		l.fault.once.Do(func() { close(l.fault.Hit) })
	}
	return tip, err
}

// triggers reports whether the fault happens now.
func (f *Fault) triggers(effect string) bool {
	if f == nil || f.effect != effect {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen++
	if f.Mode == Away {
		select {
		case <-f.Resume:
			return false
		default:
			return f.seen >= f.nth
		}
	}
	return f.seen == f.nth
}
