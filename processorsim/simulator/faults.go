package simulator

import (
	"encoding/binary"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// faults holds the set faults, oldest first (D14.13).
type faults struct {
	random io.Reader
	active atomic.Int64 // number of faults; without any, no lock is needed

	mu   sync.Mutex
	list []protocol.Fault
}

func (f *faults) add(fault protocol.Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fault.Count != nil {
		fault.Count = new(*fault.Count) // a copy, which counts down
	}
	f.list = append(f.list, fault)
	f.active.Store(int64(len(f.list)))
}

func (f *faults) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = nil
	f.active.Store(0)
}

func (f *faults) all() []protocol.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]protocol.Fault, len(f.list))
	for i, fault := range f.list {
		if fault.Count != nil {
			fault.Count = new(*fault.Count)
		}
		list[i] = fault
	}
	return list
}

// draw returns the fault that hits an operation, and counts it. Only a fault that names disputes
// loses or delays their notifications.
func (f *faults) draw(name processor.Name, kind processor.Kind, mode protocol.Mode) (protocol.Fault, bool) {
	named := kind == processor.Dispute && (mode == protocol.DropBefore || mode == protocol.Latency)
	if f.active.Load() == 0 {
		return protocol.Fault{}, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, fault := range f.list {
		fits := fault.Mode == mode && (fault.Processor == "" || fault.Processor == name) &&
			(fault.Operation == "" && !named || fault.Operation == kind)
		if !fits || !f.hits(fault.Rate) {
			continue
		}
		if fault.Count != nil {
			*fault.Count--
			if *fault.Count == 0 {
				f.list = slices.Delete(f.list, i, i+1)
				f.active.Store(int64(len(f.list)))
			}
		}
		return fault, true
	}
	return protocol.Fault{}, false
}

func (f *faults) hits(rate *float64) bool {
	if rate == nil {
		return true
	}
	var random [8]byte
	if _, err := io.ReadFull(f.random, random[:]); err != nil {
		return false // without randomness the next id fails, too
	}
	return float64(binary.BigEndian.Uint64(random[:])>>11)/(1<<53) < *rate
}
