package sidelog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore/fault"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/tipstore"
)

// Index is the witness of SECRETS: the newest acknowledged sequence of each segment, and in the
// sole writer's process the records.
type Index struct {
	Fail func(err error, stop bool) // marks the log as unhealthy; with stop, the process must stop
	// Watch reports whether a server without answers is a fault: it is embedded and has no
	// replicas.
	Watch func() bool
	// Patience is how long an embedded server may leave publishes without an answer.
	Patience time.Duration
	Log      zerolog.Logger
	Tips     *tipstore.Store // nil: this process keeps no records

	mu      sync.Mutex
	acked   map[string]uint64    // by stream: every record up to it is in the index
	changed map[string]uint64    // the part of acked that is not in the tip store
	silent  map[string]time.Time // time of the first publish without an answer

	end atomic.Uint64 // the newest acknowledged sequence, over all segments
}

// End returns the newest acknowledged sequence of SECRETS that this process knows; 0 if it knows
// none. It needs no lock.
func (x *Index) End() uint64 { return x.end.Load() }

// Named notes an acknowledged sequence of SECRETS that a group of the log names.
func (x *Index) Named(seq uint64) {
	for was := x.end.Load(); seq > was && !x.end.CompareAndSwap(was, seq); was = x.end.Load() {
	}
}

// Acked returns the newest acknowledged sequence of a stream.
func (x *Index) Acked(stream string) uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.acked[stream]
}

// Known returns the streams with an acknowledged record.
func (x *Index) Known() (names []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for name, seq := range x.acked {
		if seq > 0 {
			names = append(names, name)
		}
	}
	return names
}

// Witnessed notes that a message of a stream was acknowledged: the next start refuses a stream
// without it.
func (x *Index) Witnessed(stream string, seq uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.acked == nil {
		x.acked = map[string]uint64{}
	}
	if x.changed == nil {
		x.changed = map[string]uint64{}
	}
	x.acked[stream] = max(x.acked[stream], seq)
	x.Named(seq)
	x.changed[stream] = x.acked[stream]
}

// Forget removes a stream from the index after its intended deletion.
func (x *Index) Forget(stream string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.acked, stream)
	delete(x.changed, stream)
}

// Take returns the acknowledged sequences that changed since the last call. The caller writes them,
// or returns them to Witnessed.
func (x *Index) Take() (changed map[string]uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	changed, x.changed = x.changed, nil
	return changed
}

// Write adds acknowledged sequences to a batch of the tip store.
func (x *Index) Write(batch tipstore.Batch, changed map[string]uint64) error {
	for stream, seq := range changed {
		value := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, seq), x.Acked(stream))
		if err := batch.Set(WitnessKey(stream), value); err != nil {
			return err
		}
	}
	return nil
}

// Value returns a value of the index, or nil if the index has no such key.
func (x *Index) Value(key []byte) []byte {
	if x.Tips == nil {
		return nil
	}
	value, err := x.Tips.Get(key)
	if err != nil {
		return nil
	}
	return value
}

// Changed reports whether the record at a sequence must be destroyed.
func (x *Index) Changed(stream string, seq uint64) bool {
	return x.Tips == nil || x.Value(RecordKey(stream, seq)) == nil || x.Value(EndKey(stream, seq)) != nil
}

// Answered notes the result of a publish. A publish that its caller gave up says nothing about the
// server.
func (x *Index) Answered(stream string, err error) {
	if !x.Watch() {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	since, silent := x.silent[stream]
	switch {
	case err == nil:
		delete(x.silent, stream)
	case !jetapi.IsTimeout(err), errors.Is(err, context.Canceled):
	case !silent:
		if x.silent == nil {
			x.silent = map[string]time.Time{}
		}
		x.silent[stream] = time.Now()
	case time.Since(since) > x.Patience:
		x.Fail(fmt.Errorf("%s: no message after sequence %d is known to be on disk for %s: %w", stream, x.acked[stream],
			time.Since(since).Round(time.Second), err), true)
	}
}

// Damage marks the log as unhealthy.
func (x *Index) Damage(stream string, seq uint64, reason string) error {
	err := fault.Damage(stream, seq, errors.New(reason))
	x.Fail(err, false)
	return err
}
