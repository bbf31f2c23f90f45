package eventstore

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"payledger/eventstore/jetapi"
	"payledger/eventstore/tipstore"
)

// The index of the streams beside the log is their witness: it lists the records that the streams must hold. The server does
// not report a missing record. The sole writer of a folder keeps the index in the tip store, next to the tips:
//
//	"s" stream 0 sequence   digest                     a record that stays until it is destroyed
//	"n" stream 0 name       sequence, digest           the newest such record of a name
//	"r" stream 0 name       sequence, digest           a name whose newer record replaces the older one
//	"w" stream              sequence, safe sequence    the newest acknowledged sequence; the index is whole up to the safe one
//
// Only acknowledged records enter the index. A start adds the records after the safe sequence; if the tip store was
// lost, it adds all of them. See secretindex.go for SECRETS.
const (
	recordPrefix  = 's'
	namePrefix    = 'n'
	replacePrefix = 'r'
	dyingPrefix   = 'x'
)

// sideRoots are the beginnings of the subjects of streams beside the log; the name of the record follows.
var sideRoots = map[string]string{
	positionStream: positionRoot + ".",
}

// sideDigest is a digest of a record.
type sideDigest [16]byte

func digestOf(name string, body []byte) (d sideDigest) {
	sum := sha256.New()
	sum.Write(append([]byte(name), 0))
	sum.Write(body)
	copy(d[:], sum.Sum(nil))
	return d
}

func sideKey(prefix byte, stream, name string) []byte {
	b := make([]byte, 0, 2+len(stream)+len(name))
	return append(append(append(append(b, prefix), stream...), 0), name...)
}

func recordKey(stream string, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(sideKey(recordPrefix, stream, ""), seq)
}

// sideEntry is the value of an "n" or "r" key.
type sideEntry struct {
	seq    uint64
	digest sideDigest
}

func (e sideEntry) encode() []byte {
	return append(binary.BigEndian.AppendUint64(nil, e.seq), e.digest[:]...)
}

func decodeEntry(b []byte) (e sideEntry) {
	if len(b) == 8+len(e.digest) {
		e.seq = binary.BigEndian.Uint64(b)
		copy(e.digest[:], b[8:])
	}
	return e
}

// indexed reports whether this store keeps the index: it is the sole writer of an embedded server's folder.
func (s *Store) indexed() bool { return s.sole && s.embedded != nil && !s.readOnly && !s.tipsFixed }

// sidePlace is the knowledge of this process about a stream beside the log.
type sidePlace struct {
	acked uint64 // the newest sequence that was acknowledged; every record up to it is in the index

	silent time.Time // time of the first publish without an answer; zero: the server answers
}

// sidePlace returns the stream's place. The caller holds the lock.
func (s *Store) sidePlace(stream string) *sidePlace {
	if s.places == nil {
		s.places = map[string]*sidePlace{}
	}
	if s.places[stream] == nil {
		s.places[stream] = &sidePlace{}
	}
	return s.places[stream]
}

// ackedOf returns the newest acknowledged sequence of a stream.
func (s *Store) ackedOf(stream string) uint64 {
	s.side.Lock()
	defer s.side.Unlock()
	return s.sidePlace(stream).acked
}

// sideKnown returns the streams beside the log with an acknowledged record.
func (s *Store) sideKnown() (names []string) {
	s.side.Lock()
	defer s.side.Unlock()
	for name, p := range s.places {
		if p.acked > 0 {
			names = append(names, name)
		}
	}
	return names
}

// witnessedNewest adds an acknowledged record to the index, in place of older ones of its name.
func (s *Store) witnessedNewest(stream string, seq uint64, name string, body []byte) {
	s.side.Lock()
	older := decodeEntry(s.sideValue(sideKey(replacePrefix, stream, name))).seq > seq
	s.side.Unlock()
	if older {
		return
	}
	s.witness(stream, seq, func(b tipstore.Batch) error { return setNewest(b, stream, seq, name, body) })
}

func setNewest(b tipstore.Batch, stream string, seq uint64, name string, body []byte) error {
	return b.Set(sideKey(replacePrefix, stream, name), sideEntry{seq, digestOf(name, body)}.encode())
}

func (s *Store) witness(stream string, seq uint64, enter func(tipstore.Batch) error) {
	if s.indexed() {
		batch := s.tips.NewBatch()
		if err := errors.Join(enter(batch), batch.Commit()); err != nil {
			s.log.Error().Err(err).Str("stream", stream).Uint64("sequence", seq).Msg("a record is not in the index")
		}
	}
	s.witnessed(stream, seq)
}

// sideValue returns a value of the index, or nil if the index has no such key.
func (s *Store) sideValue(key []byte) []byte {
	if !s.indexed() {
		return nil
	}
	value, err := s.tips.Get(key)
	if err != nil {
		return nil
	}
	return value
}

// must returns the entry of a name in the index. Call it before the read from the server, so that it has no later record.
func (s *Store) must(stream, name string) sideEntry {
	for _, prefix := range []byte{namePrefix, replacePrefix} {
		e := decodeEntry(s.sideValue(sideKey(prefix, stream, name)))
		if e.seq > 0 && (prefix == replacePrefix || s.sideValue(recordKey(stream, e.seq)) != nil) {
			return e
		}
	}
	return sideEntry{}
}

// missing returns the error for a record that the server does not have: damage if the index still has the record, else
// ErrNotFound.
func (s *Store) missing(stream, name string, must sideEntry) error {
	if must.seq == 0 || s.must(stream, name).seq == 0 {
		return ErrNotFound
	}
	return s.sideDamage(stream, must.seq, "the record is missing")
}

// older returns an error if the server returned an older record of a name than the index has.
func (s *Store) older(stream string, seq uint64, must sideEntry) error {
	if must.seq <= seq {
		return nil
	}
	return s.sideDamage(stream, must.seq, "the record is missing; an older one of its name stands there")
}

// answered notes the result of a publish to a stream beside the log. An embedded server without an answer for durableDeadline
// has lost its disk: the process must stop, as for the log itself.
func (s *Store) answered(stream string, err error) {
	if s.embedded == nil || s.replicas > 1 || s.closing.Load() {
		return
	}
	s.side.Lock()
	defer s.side.Unlock()
	p := s.sidePlace(stream)
	switch {
	case err == nil:
		p.silent = time.Time{}
	case !jetapi.IsTimeout(err):
	case p.silent.IsZero():
		p.silent = time.Now()
	case time.Since(p.silent) > durableDeadline:
		s.fail(fmt.Errorf("%s at sequence %d: nothing behind it is known to be on disk for %s: %w", stream, p.acked,
			time.Since(p.silent).Round(time.Second), err), true)
	}
}

// sideDamage marks the log as unhealthy.
func (s *Store) sideDamage(stream string, seq uint64, reason string) error {
	err := fmt.Errorf("%w: %s at sequence %d: %s; copy the folder before anything else", ErrUnhealthy, stream, seq, reason)
	s.fail(err, false)
	return err
}

// sideNames returns the names in the index that begin with a prefix, and their sequences.
func (s *Store) sideNames(kind byte, stream, prefix string) (map[string]uint64, error) {
	names := map[string]uint64{}
	if !s.indexed() {
		return names, nil
	}
	start := len(sideKey(kind, stream, ""))
	return names, s.tips.Each(sideKey(kind, stream, prefix), func(key, value []byte) error {
		if len(value) >= 8 {
			names[string(key[start:])] = binary.BigEndian.Uint64(value)
		}
		return nil
	})
}
