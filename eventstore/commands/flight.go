package commands

import (
	"sync"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/eventstore"
)

// flight is one operation on its way: from the request that is recorded to an outcome that is. Within a
// process an operation flies once; between processes the processor's key and the compare-and-swap on the
// outcome see to it.
type flight struct {
	key      domain.OperationKey
	revision uint64
	tip      eventstore.Tip[payment.State] // owned by the flight's goroutine
	asked    int                           // questions without an answer

	answered chan struct{} // closed when callers need wait no longer
	once     sync.Once
	mu       sync.Mutex
	state    payment.State // what callers are answered
}

// publish tells the callers the newest state; landed says that they need wait no longer.
func (f *flight) publish(state payment.State, landed bool) {
	f.mu.Lock()
	f.state = state
	f.mu.Unlock()
	if landed {
		f.once.Do(func() { close(f.answered) })
	}
}

func (f *flight) newest() payment.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// flights are the operations under way in this process.
type flights struct {
	mu sync.Mutex
	by map[domain.OperationKey]*flight
}

func newFlights() flights { return flights{by: map[domain.OperationKey]*flight{}} }

// join gives the flight of the operation, and whether it is new: then the caller must start it.
func (fs *flights) join(key domain.OperationKey, make func() *flight) (*flight, bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f, ok := fs.by[key]; ok {
		return f, false
	}
	f := make()
	fs.by[key] = f
	return f, true
}

func (fs *flights) leave(key domain.OperationKey) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	delete(fs.by, key)
}

// count is the number of operations under way.
func (fs *flights) count() int {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return len(fs.by)
}
