package secretlog

import (
	"crypto/sha256"
	"encoding/binary"

	"payledger/eventstore/streams"
)

// The index lists the messages that the stream must hold. It is in the tip store, next to the tips:
//
//	"s" segment 0 sequence    digest, name        a message that stays until it is destroyed; of a value with its name
//	"x" segment 0 sequence    sequence, state     a value that must be destroyed
//	"w" "SECRETS"             sequence            the newest acknowledged sequence: the index is whole up to it
//	"n" "SECRETS" 0 name      sequence, digest    the value of a name
//	"g" "SECRETS" 0           sequences, proof    the generations
//	"f" "SECRETS" 0           sequence, message   the newest message that drops segments
//	"d" "SECRETS" 0 sequence  1                   a value of an earlier generation that can be sealed anew no more
//	"e" "SECRETS" 0 name      sequence            the last message of a generation that destroyed all values of a name
//
// A start adds the messages after the newest acknowledged one; if the tip store was lost, it adds
// all of them.
const (
	recordPrefix     = 's'
	dyingPrefix      = 'x'
	witnessPrefix    = 'w'
	namePrefix       = 'n'
	generationPrefix = 'g'
	droppedPrefix    = 'f'
	spentPrefix      = 'd'
	endedPrefix      = 'e'
)

// key returns a key without its sequence. of is a segment, or the whole stream.
func key(prefix byte, of, name string) []byte {
	b := make([]byte, 0, 2+len(of)+len(name)+8)
	return append(append(append(append(b, prefix), of...), 0), name...)
}

func sequenceKey(prefix byte, of string, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(key(prefix, of, ""), seq)
}

func nameKey(name string) string { return string(key(namePrefix, streams.Secrets, name)) }

func endedKey(name string) string { return string(key(endedPrefix, streams.Secrets, name)) }

func spentKey(seq uint64) string { return string(sequenceKey(spentPrefix, streams.Secrets, seq)) }

func generationKey() string { return string(key(generationPrefix, streams.Secrets, "")) }

func droppedKey() string { return string(key(droppedPrefix, streams.Secrets, "")) }

// digest is a digest of a message.
type digest [16]byte

func digestOf(body []byte) digest {
	sum := sha256.Sum256(body)
	return digest(sum[:])
}

// entry is the value of a name: its place and its digest. The zero value means that the name has
// none.
type entry struct {
	seq    uint64
	digest digest
}

// stands reports whether the name has a value.
func (e entry) stands() bool { return e.seq > 0 }

func (e entry) encode() []byte {
	return append(binary.BigEndian.AppendUint64(nil, e.seq), e.digest[:]...)
}

// parseEntry is the inverse of encode.
func parseEntry(b []byte) (e entry) {
	if len(b) == 8+len(e.digest) {
		e.seq, e.digest = binary.BigEndian.Uint64(b), digest(b[8:])
	}
	return e
}
