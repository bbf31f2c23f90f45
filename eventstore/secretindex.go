package eventstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"payledger/eventstore/sidelog"
	"payledger/eventstore/tipstore"
)

// secretIndex is the index of SECRETS in the tip store: the place of each name's value. It is made from the stream alone,
// message by message in order, and is the same on every node. The first value of a name counts until it is destroyed. A later
// value of a name that has one is surplus, and is destroyed. For a segment the index has
//
//	"s" segment 0 sequence   digest, name      a message that stands
//	"x" segment 0 sequence   sequence, state   a value that must be destroyed: 0 a destruction names it, 1 none does yet,
//	                                           2 and the group: it is purged with its group
//
// and "n" SECRETS 0 name → sequence, digest over all. The witness of package sidelog is its end.
type secretIndex struct {
	s   *Store
	log *sidelog.Log

	mu      sync.Mutex
	applied uint64                  // all up to it is in the index
	pending map[uint64]secretRecord // acknowledged, but not the next one
	gaps    sequenceSet             // sequences without a message that no destruction has named yet
	changed chan struct{}           // closed and replaced whenever applied grows
	over    map[string][]byte       // what differs from a tip store that is not written; nil: nothing stands there
	told    []func(name string)     // called with each destroyed name; see SecretBytes.Tell

	reading sync.Mutex
}

// States of an "x" entry.
const (
	endNamed   = 0
	endSurplus = 1
	endGroup   = 2
)

var errTipsClosed = fmt.Errorf("%w: the store was closed", ErrUnhealthy)

func newSecretIndex(s *Store, log *sidelog.Log) *secretIndex {
	x := &secretIndex{s: s, log: log, pending: map[uint64]secretRecord{}, gaps: sequenceSet{}, changed: make(chan struct{})}
	if s.tipsFixed {
		x.over = map[string][]byte{}
	}
	return x
}

// value reads the index; nil when it has no such key.
func (x *secretIndex) value(key []byte) ([]byte, error) {
	if value, known := x.over[string(key)]; known {
		return value, nil
	}
	x.s.tipsOpen.RLock()
	defer x.s.tipsOpen.RUnlock()
	if x.s.tipsClosed {
		return nil, errTipsClosed
	}
	value, err := x.s.tips.Get(key)
	if errors.Is(err, tipstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil && !x.s.closing.Load() {
		if errors.Is(err, tipstore.ErrDamaged) {
			x.s.tips.Condemn()
		}
		err = fmt.Errorf("%w: the tip store cannot be read: %w; a restart makes it again from the log", ErrUnhealthy, err)
		x.s.fail(err, false)
	}
	return value, err
}

// write changes the index at once; a nil value deletes.
func (x *secretIndex) write(change map[string][]byte) error {
	if x.over != nil {
		for key, value := range change {
			x.over[key] = value
		}
		return nil
	}
	x.s.tipsOpen.RLock()
	defer x.s.tipsOpen.RUnlock()
	if x.s.tipsClosed {
		return errTipsClosed
	}
	batch := x.s.tips.NewBatch()
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

// sync returns when the index is on the disk.
func (x *secretIndex) sync() error {
	x.s.tipsOpen.RLock()
	defer x.s.tipsOpen.RUnlock()
	if x.s.tipsClosed {
		return errTipsClosed
	}
	return x.s.tips.Flush()
}

// under returns the keys that begin with a prefix, without it, and their values.
func (x *secretIndex) under(prefix []byte) (map[string][]byte, error) {
	found := map[string][]byte{}
	err := x.s.tips.Each(prefix, func(key, value []byte) error {
		found[string(key[len(prefix):])] = bytes.Clone(value)
		return nil
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	for key, value := range x.over {
		if rest, ok := strings.CutPrefix(key, string(prefix)); ok && value != nil {
			found[rest] = value
		} else if ok {
			delete(found, rest)
		}
	}
	return found, err
}

// entry returns where the value of a name stands; false if there is none.
func (x *secretIndex) entry(name string) (sidelog.Entry, bool, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	value, err := x.value(sidelog.Key(sidelog.NamePrefix, sidelog.SecretStream, name))
	e := sidelog.ParseEntry(value)
	return e, e.Seq > 0, err
}

// place returns how far the index is.
func (x *secretIndex) place() (applied uint64, changed <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.applied, x.changed
}

// apply enters the next message. The caller holds the lock.
func (x *secretIndex) apply(r secretRecord) error {
	digest := r.digest()
	change := map[string][]byte{}
	stream := x.log.Of(r.seq).Stream
	if r.kind == secretDestroyed {
		change[string(sidelog.RecordKey(stream, r.seq))] = digest[:]
		ended, err := x.end(r, change)
		if err == nil {
			err = x.write(change)
		}
		for _, name := range ended {
			for _, forget := range x.told {
				forget(name)
			}
		}
		return err
	}
	change[string(sidelog.RecordKey(stream, r.seq))] = append(digest[:], r.name...)
	key := sidelog.Key(sidelog.NamePrefix, sidelog.SecretStream, r.name)
	there, err := x.value(key)
	if err != nil {
		return err
	}
	if known := sidelog.ParseEntry(there); known.Seq > 0 && known.Seq != r.seq {
		change[string(sidelog.EndKey(stream, r.seq))] = append(binary.BigEndian.AppendUint64(nil, r.seq), endSurplus)
	} else {
		change[string(key)] = sidelog.Entry{Seq: r.seq, Digest: digest}.Encode()
	}
	return x.write(change)
}

// end collects what a destruction changes, and the names of the values that it ends.
func (x *secretIndex) end(r secretRecord, change map[string][]byte) (names []string, err error) {
	state := []byte{endNamed}
	if r.group != "" {
		state = append([]byte{endGroup}, r.group...)
	}
	ended := r.ended
	if r.name != "" { // all of it, whatever is named
		value, err := x.value(sidelog.Key(sidelog.NamePrefix, sidelog.SecretStream, r.name))
		if err != nil {
			return nil, err
		}
		if e := sidelog.ParseEntry(value); e.Seq > 0 && e.Seq < r.seq {
			ended = append(append([]uint64(nil), ended...), e.Seq)
		}
	}
	for _, seq := range ended {
		x.gaps.remove(seq)
		stream := x.log.Of(seq).Stream
		value, err := x.value(sidelog.RecordKey(stream, seq))
		if err != nil {
			return nil, err
		}
		if len(value) < len(sidelog.Digest{}) { // it is gone
			continue
		}
		name := string(value[len(sidelog.Digest{}):])
		key := sidelog.Key(sidelog.NamePrefix, sidelog.SecretStream, name)
		there, err := x.value(key)
		if err != nil {
			return nil, err
		}
		if sidelog.ParseEntry(there).Seq == seq {
			change[string(key)], names = nil, append(names, name)
		}
		change[string(sidelog.EndKey(stream, seq))] = append(binary.BigEndian.AppendUint64(nil, seq), state...)
	}
	return names, nil
}

// grow notes that the index is whole up to a sequence. The caller holds the lock.
func (x *secretIndex) grow(applied uint64) {
	if applied <= x.applied {
		return
	}
	x.applied = applied
	close(x.changed)
	x.changed = make(chan struct{})
	if x.over == nil {
		g := x.log.Of(applied)
		x.s.side.Witnessed(g.Stream, applied)
	}
}

// drain applies what is pending and next. The caller holds the lock.
func (x *secretIndex) drain() error {
	for {
		r, ok := x.pending[x.applied+1]
		if !ok {
			return nil
		}
		if err := x.apply(r); err != nil {
			return err
		}
		delete(x.pending, r.seq)
		x.grow(r.seq)
	}
}

// learn enters a message that was acknowledged, and all before it.
func (x *secretIndex) learn(ctx context.Context, r secretRecord) error {
	x.mu.Lock()
	if r.seq > x.applied {
		x.pending[r.seq] = r
	}
	err := x.drain()
	x.mu.Unlock()
	if err != nil {
		return err
	}
	late := time.NewTimer(learnPause)
	defer late.Stop()
	for {
		applied, changed := x.place()
		if applied >= r.seq {
			return nil
		}
		select {
		case <-changed:
		case <-late.C: // an answer is missing, or another node wrote
			return x.catchUp(ctx, r.seq)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// learnPause is how long an acknowledgement waits for those before it until their messages are read.
const learnPause = 2 * time.Millisecond

// sequenceSet is a set of sequences: a bit each.
type sequenceSet map[uint64]uint64

func (s sequenceSet) add(seq uint64) { s[seq/64] |= 1 << (seq % 64) }

func (s sequenceSet) remove(seq uint64) {
	if s[seq/64] &^= 1 << (seq % 64); s[seq/64] == 0 {
		delete(s, seq/64)
	}
}

// some returns up to n of its sequences.
func (s sequenceSet) some(n int) (all []uint64) {
	for page, bits := range s {
		for i := uint64(0); i < 64; i++ {
			if bits&(1<<i) != 0 && len(all) < n {
				all = append(all, page*64+i)
			}
		}
	}
	return all
}
