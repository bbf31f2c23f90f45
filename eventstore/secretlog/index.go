package secretlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"payledger/eventstore/fault"
	"payledger/eventstore/stored"
	"payledger/eventstore/tipstore"
)

// index is the index of SECRETS in the tip store (keys.go). It is built from the messages of the
// stream in their order.
type index struct {
	Config
	segments *segments

	mu          sync.Mutex
	applied     uint64              // the index holds all messages up to this sequence
	acked       uint64              // the newest acknowledged message that this process knows
	gaps        stored.Sequences    // sequences without a message that no destruction has named yet
	overlay     map[string][]byte   // changes to a tip store that is not written; a nil value: the key is deleted
	onDestroyed []func(name string) // called with each destroyed name; see Stream.OnDestroyed

	generations  []uint64                 // sequences of the messages that began them
	proof        []byte                   // of the newest generation
	onGeneration func(proof []byte) error // see Stream.OnGeneration

	floor record // the newest drop of segments; its sequence is 0 if there was none

	reading chan struct{} // holds one while a caller reads the stream into the index
}

// States of an "x" entry.
const (
	endNamed   = 0 // a destruction names the value
	endSurplus = 1 // none names it yet
	endGroup   = 2 // and the group: the value is purged with it, or removed without being overwritten (removedGroup)
)

func newIndex(c Config, segments *segments) *index {
	x := &index{Config: c, segments: segments, gaps: stored.Sequences{}, reading: make(chan struct{}, 1)}
	if c.Fixed {
		x.overlay = map[string][]byte{}
	}
	return x
}

// value returns the value of a key in the index; nil if there is none.
func (x *index) value(key string) ([]byte, error) {
	if value, known := x.overlay[key]; known {
		return value, nil
	}
	value, err := x.Tips.Get([]byte(key))
	if errors.Is(err, tipstore.ErrNotFound) {
		return nil, nil
	}
	return value, x.broken(err)
}

// broken marks the log as unhealthy if the tip store cannot be read.
func (x *index) broken(err error) error {
	if err != nil && x.Life.Err() == nil {
		err = fmt.Errorf("%w: the tip store cannot be read: %w; %s", fault.ErrUnhealthy, err, x.Tips.Remedy(err))
		x.Fail(err, false)
	}
	return err
}

// write writes changes to the index in one batch; a nil value deletes the key.
func (x *index) write(change map[string][]byte) error {
	if x.overlay != nil {
		for key, value := range change {
			x.overlay[key] = value
		}
		return nil
	}
	batch := x.Tips.NewBatch()
	var errs []error
	for key, value := range change {
		if value == nil {
			errs = append(errs, batch.Delete([]byte(key)))
		} else {
			errs = append(errs, batch.Set([]byte(key), value))
		}
	}
	return errors.Join(append(errs, batch.Commit())...)
}

// under is rows for callers that do not hold the lock.
func (x *index) under(prefix string) (map[string][]byte, error) {
	if x.overlay != nil { // the tip store needs no lock
		x.mu.Lock()
		defer x.mu.Unlock()
	}
	return x.rows(prefix)
}

// rows returns the values of the keys that begin with a prefix, by the rest of the key. The caller
// holds the lock.
func (x *index) rows(prefix string) (map[string][]byte, error) {
	found := map[string][]byte{}
	err := x.Tips.Each([]byte(prefix), func(key, value []byte) error {
		found[string(key[len(prefix):])] = bytes.Clone(value)
		return nil
	})
	for key, value := range x.overlay {
		if rest, ok := strings.CutPrefix(key, prefix); ok && value != nil {
			found[rest] = value
		} else if ok {
			delete(found, rest)
		}
	}
	return found, err
}

// entry returns the value of a name.
func (x *index) entry(name string) (entry, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	value, err := x.value(nameKey(name))
	return parseEntry(value), err
}

// recordKey returns the key of a message that stays until it is destroyed.
func (x *index) recordKey(seq uint64) string {
	return string(sequenceKey(recordPrefix, x.segments.of(seq).Name(), seq))
}

// dyingKey returns the key of a value that must be destroyed.
func (x *index) dyingKey(seq uint64) string {
	return string(sequenceKey(dyingPrefix, x.segments.of(seq).Name(), seq))
}

// mustEnd adds that a value must be destroyed to change.
func (x *index) mustEnd(change map[string][]byte, seq uint64, state ...byte) {
	change[x.dyingKey(seq)] = append(binary.BigEndian.AppendUint64(nil, seq), state...)
}

// damage marks the log as unhealthy.
func (x *index) damage(seq uint64, reason string) error {
	return x.damageIn(x.segments.of(seq), seq, reason)
}

// damageIn is damage of a segment.
func (x *index) damageIn(g segment, seq uint64, reason string) error {
	err := fault.Damage(g.Name(), seq, errors.New(reason))
	x.Fail(err, false)
	return err
}

// place returns the last sequence in the index, and the newest one that is acknowledged.
func (x *index) place() (applied, acked uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.applied, x.acked
}

// acknowledged notes that the server acknowledged a message to this process.
func (x *index) acknowledged(seq uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.acked = max(x.acked, seq)
}

// whole reports whether the index has all messages up to a sequence, and knows why others are
// missing.
func (x *index) whole(through uint64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.applied >= through && len(x.gaps) == 0
}

// apply enters the next message into the index. The caller holds the lock.
func (x *index) apply(r record) error {
	digest := r.digest()
	change := map[string][]byte{x.recordKey(r.seq): digest[:]}
	switch r.kind {
	case kindDropped:
		return x.drop(r, change)
	case kindDestruction:
		ended, err := x.destructionChanges(r, change)
		if err == nil {
			err = x.write(change)
		}
		for _, name := range ended {
			for _, forget := range x.onDestroyed {
				forget(name)
			}
		}
		return err
	case kindGeneration:
		return x.begin(r, change)
	}
	change[x.recordKey(r.seq)] = append(digest[:], r.name...)
	key := nameKey(r.name)
	there, err := x.value(key)
	if err != nil {
		return err
	}
	counts, err := x.counts(r, parseEntry(there), change)
	if err != nil {
		return err
	}
	if counts {
		change[key] = entry{r.seq, digest}.encode()
	} else {
		x.mustEnd(change, r.seq, endSurplus)
	}
	return x.write(change)
}

// destructionChanges adds the changes of a destruction to change, and returns the names of the
// destroyed values.
func (x *index) destructionChanges(r record, change map[string][]byte) (names []string, err error) {
	state := []byte{endNamed}
	if r.group != "" {
		state = append([]byte{endGroup}, r.group...)
	}
	ended, unnamed := r.ended, uint64(0)
	if r.name != "" { // all values of the name, whichever sequences the message lists
		if x.generationAt(r.seq) > 0 { // a reader may find a value deleted that the message does not list
			key := endedKey(r.name)
			last, err := x.value(key)
			if err != nil {
				return nil, err
			}
			if len(last) != 8 || binary.BigEndian.Uint64(last) < r.seq {
				change[key] = binary.BigEndian.AppendUint64(nil, r.seq)
			}
		}
		value, err := x.value(nameKey(r.name))
		if err != nil {
			return nil, err
		}
		if e := parseEntry(value); e.stands() && e.seq < r.seq && !slices.Contains(ended, e.seq) {
			ended, unnamed = append(append([]uint64(nil), ended...), e.seq), e.seq
		}
	}
	for _, seq := range ended {
		x.gaps.Remove(seq)
		if seq < x.generationAt(r.seq) {
			change[spentKey(seq)] = []byte{1}
		}
		value, err := x.value(x.recordKey(seq))
		if err != nil {
			return nil, err
		}
		if len(value) < len(digest{}) { // the value is already removed
			continue
		}
		name := string(value[len(digest{}):])
		key := nameKey(name)
		there, err := x.value(key)
		if err != nil {
			return nil, err
		}
		if parseEntry(there).seq == seq {
			change[key], names = nil, append(names, name)
		}
		end := state
		if seq == unnamed { // a further message names it before it is deleted: each missing sequence is named
			end = []byte{endSurplus}
		}
		x.mustEnd(change, seq, end...)
	}
	return names, nil
}

// grow notes that the index is complete up to a sequence. The caller holds the lock.
func (x *index) grow(applied uint64) {
	if applied <= x.applied {
		return
	}
	x.applied, x.acked = applied, max(x.acked, applied)
	x.Witness.Named(applied)
}

// tell lets Witness know what the index has, if it is whole. The tip store must not: the next start
// would not read the stream from the first gap on, and take the damage for a value that was never
// stored. The caller holds the lock.
func (x *index) tell() {
	if len(x.gaps) == 0 {
		x.Witness.saw(x.applied)
	}
}
