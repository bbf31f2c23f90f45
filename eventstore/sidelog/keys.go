package sidelog

import (
	"crypto/sha256"
	"encoding/binary"
)

// The index lists the records that the streams must hold. The sole writer of a folder keeps it in
// the tip store, next to the tips:
//
//	"s" stream 0 sequence   digest                     a record that stays until it is destroyed
//	"n" stream 0 name       sequence, digest           the newest such record of a name
//	"x" stream 0 sequence   sequence, state            a value of SECRETS that must be destroyed
//	"w" stream              sequence, safe sequence    the newest acknowledged sequence; the index is whole up to the safe one
//	"g" stream 0            sequences, proof           the generations of SECRETS
//	"f" stream 0            sequence, message          the newest message of SECRETS that drops segments
//	"d" stream 0 sequence   1                          a value of an earlier generation that can be sealed anew no more
//	"e" stream 0 name       sequence                   the last message of a generation that destroyed all values of a name
//
// A start adds the records after the safe sequence; if the tip store was lost, it adds all of them.
const (
	NamePrefix    = 'n'
	DyingPrefix   = 'x'
	WitnessPrefix = 'w'
	GenerationKey = 'g'
	DroppedKey    = 'f'
	SpentPrefix   = 'd'
	EndedPrefix   = 'e'
	recordPrefix  = 's'
)

// Digest is a digest of a record.
type Digest [16]byte

// DigestOf returns the digest of a record.
func DigestOf(body []byte) (d Digest) {
	sum := sha256.Sum256(body)
	copy(d[:], sum[:])
	return d
}

// Key returns the key of a name, or the beginning of the keys of sequences.
func Key(prefix byte, stream, name string) []byte {
	b := make([]byte, 0, 2+len(stream)+len(name))
	return append(append(append(append(b, prefix), stream...), 0), name...)
}

// RecordKey returns the key of a record that stays until it is destroyed.
func RecordKey(stream string, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(Key(recordPrefix, stream, ""), seq)
}

// RecordsOf is the beginning of the keys of a stream's records.
func RecordsOf(stream string) []byte { return Key(recordPrefix, stream, "") }

// EndKey returns the key of a value that must be destroyed.
func EndKey(stream string, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(Key(DyingPrefix, stream, ""), seq)
}

// SpentKey returns the key of a value of an earlier generation that can be sealed anew no more.
func SpentKey(stream string, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(Key(SpentPrefix, stream, ""), seq)
}

// WitnessKey returns the key of a stream's witness.
func WitnessKey(stream string) []byte { return append([]byte{WitnessPrefix}, stream...) }

// ParseWitness reads a stream's witness: its newest acknowledged sequence, and the sequence up to
// which the index is whole.
func ParseWitness(b []byte) (acked, safe uint64) {
	if len(b) != 16 {
		return 0, 0
	}
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
}

// Entry is the place and the digest of a record.
type Entry struct {
	Seq    uint64 // 0: the index has no such record
	Digest Digest
}

// Encode returns the value of the record's key.
func (e Entry) Encode() []byte {
	return append(binary.BigEndian.AppendUint64(nil, e.Seq), e.Digest[:]...)
}

// ParseEntry is the inverse of Encode.
func ParseEntry(b []byte) (e Entry) {
	if len(b) == 8+len(e.Digest) {
		e.Seq = binary.BigEndian.Uint64(b)
		copy(e.Digest[:], b[8:])
	}
	return e
}
