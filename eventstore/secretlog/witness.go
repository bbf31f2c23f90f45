package secretlog

import (
	"encoding/binary"
	"sync/atomic"

	"payledger/eventstore/streams"
	"payledger/eventstore/tipstore"
)

// Witness is the newest acknowledged sequence of SECRETS that a process knows, as the head of a
// shard is. Groups of the log name it. The tip store has the sequence up to which the index is
// whole: the next start refuses a stream without it. The zero value knows none.
type Witness struct {
	end     atomic.Uint64
	acked   atomic.Uint64 // the index has every message up to it
	written uint64        // acked as the tip store has it on the disk
}

// End returns the newest acknowledged sequence of SECRETS that this process knows; 0 if it knows
// none. It needs no lock.
func (w *Witness) End() uint64 { return w.end.Load() }

// Named notes an acknowledged sequence of SECRETS that a group of the log names.
func (w *Witness) Named(seq uint64) { raise(&w.end, seq) }

// Acked returns the newest acknowledged sequence up to which the index has every message.
func (w *Witness) Acked() uint64 { return w.acked.Load() }

// saw notes that the index has every message up to an acknowledged sequence.
func (w *Witness) saw(seq uint64) {
	raise(&w.end, seq)
	raise(&w.acked, seq)
}

// raise sets a number to a larger one.
func raise(n *atomic.Uint64, to uint64) {
	for was := n.Load(); to > was && !n.CompareAndSwap(was, to); was = n.Load() {
	}
}

// Write adds Acked to a batch if the tip store does not have it, and returns it for Written; 0: it
// has. Calls of Write and Written are not concurrent.
func (w *Witness) Write(batch tipstore.Batch) (acked uint64, err error) {
	if acked = w.Acked(); acked <= w.written {
		return 0, nil
	}
	return acked, batch.Set(witnessKey(), binary.BigEndian.AppendUint64(nil, acked))
}

// Written notes that the tip store has the result of a Write on the disk.
func (w *Witness) Written(acked uint64) { w.written = max(w.written, acked) }

// WitnessIn returns the newest acknowledged sequence that a tip store has; 0 if it has none.
// Earlier builds had a number for each segment.
func WitnessIn(view tipstore.View) (acked uint64, err error) {
	err = view.Each([]byte{witnessPrefix}, func(_, value []byte) error {
		if len(value) >= 8 { // an early build wrote another number after it
			acked = max(acked, binary.BigEndian.Uint64(value))
		}
		return nil
	})
	return acked, err
}

func witnessKey() []byte { return append([]byte{witnessPrefix}, streams.Secrets...) }

// FloorIn returns the dropped part by a tip store.
func FloorIn(get func(key []byte) ([]byte, error)) (streams.Floor, error) {
	stored, err := get([]byte(droppedKey()))
	return storedFloor(stored).floor(), unlessNone(err)
}

// FloorOf returns the dropped part that a message names; the zero value for another message.
func FloorOf(seq uint64, body []byte) (streams.Floor, error) {
	r, err := parse(seq, body)
	return r.floor(), err
}
