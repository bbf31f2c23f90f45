package secretlog

import (
	"encoding/binary"
	"errors"
	"maps"
	"sync"
	"sync/atomic"

	"payledger/eventstore/streams"
	"payledger/eventstore/tipstore"
)

// Witness is what a process knows of the newest acknowledged messages of SECRETS. Groups of the log
// name the newest one of all segments. The tip store has the newest one of each segment: the next
// start refuses a stream without it. The zero value knows none.
type Witness struct {
	end atomic.Uint64 // over all segments

	mu      sync.Mutex
	acked   map[string]uint64 // by segment: the index has every message up to it
	written map[string]uint64 // the part of acked that is in the tip store
}

// End returns the newest acknowledged sequence of SECRETS that this process knows; 0 if it knows
// none. It needs no lock.
func (w *Witness) End() uint64 { return w.end.Load() }

// Named notes an acknowledged sequence of SECRETS that a group of the log names.
func (w *Witness) Named(seq uint64) {
	for was := w.end.Load(); seq > was && !w.end.CompareAndSwap(was, seq); was = w.end.Load() {
	}
}

// Acked returns the newest acknowledged sequence of a segment.
func (w *Witness) Acked(stream string) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acked[stream]
}

// Known returns the segments with an acknowledged message.
func (w *Witness) Known() (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.acked {
		names = append(names, name)
	}
	return names
}

// saw notes that the index has every message of a segment up to an acknowledged sequence.
func (w *Witness) saw(stream string, seq uint64) {
	w.Named(seq)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.acked == nil {
		w.acked, w.written = map[string]uint64{}, map[string]uint64{}
	}
	w.acked[stream] = max(w.acked[stream], seq)
}

// forget forgets a segment that was dropped.
func (w *Witness) forget(stream string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.acked, stream)
	delete(w.written, stream)
}

// Write adds what the tip store does not have to a batch, and returns it for Written.
func (w *Witness) Write(batch tipstore.Batch) (news map[string]uint64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	news = map[string]uint64{}
	for stream, seq := range w.acked {
		if seq > w.written[stream] {
			news[stream] = seq
			err = errors.Join(err, batch.Set(witnessKey(stream), binary.BigEndian.AppendUint64(nil, seq)))
		}
	}
	return news, err
}

// Written notes that the tip store has the result of a Write on the disk.
func (w *Witness) Written(news map[string]uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.Copy(w.written, news)
}

// Witnessed is what a tip store has of SECRETS.
type Witnessed struct {
	Acked map[string]uint64 // the newest acknowledged sequence of each segment
	Floor []byte            // the newest message that drops segments, for FirstIn; nil: there was none
}

// ReadWitness reads what a tip store has of SECRETS.
func ReadWitness(view tipstore.View) (w Witnessed, err error) {
	w.Acked = map[string]uint64{}
	err = view.Each([]byte{witnessPrefix}, func(key, value []byte) error {
		if name := string(key[1:]); streams.IsSecrets(name) {
			w.Acked[name] = parseWitness(value)
		}
		return nil
	})
	if err != nil {
		return w, err
	}
	if w.Floor, err = view.Get([]byte(droppedKey())); errors.Is(err, tipstore.ErrNotFound) {
		err = nil
	}
	return w, err
}
