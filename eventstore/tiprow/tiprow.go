package tiprow

import (
	"encoding/binary"
	"fmt"
	"strings"

	"payledger/domain"
	"payledger/eventstore/format"
	"payledger/eventstore/tipstore"
)

const (
	tip     = 't'
	left    = 'h'
	applied = 'a'
	times   = 'm'
)

// Scrub and LogID are the keys of the place of the scrub and of the log's id.
const (
	Scrub = "c"
	LogID = "l"
)

// Key returns the key of a tip.
func Key(key format.Key) []byte {
	b := make([]byte, 0, 4+len(key.Aggregate)+len(key.Account)+len(key.ID))
	b = append(append(append(b, tip), key.Aggregate...), 0)
	b = append(append(b, key.Account...), 0)
	return append(b, key.ID...)
}

// ParseKey is the inverse of Key.
func ParseKey(b []byte) format.Key {
	parts := strings.SplitN(string(b[1:]), "\x00", 3)
	if len(parts) != 3 {
		return format.Key{}
	}
	return format.Key{Aggregate: parts[0], Account: domain.AccountID(parts[1]), ID: parts[2]}
}

// Prefix returns the beginning of the keys of all tips that have the texts in the first parts of
// their keys.
func Prefix(first ...string) []byte {
	b := []byte{tip}
	for _, text := range first {
		b = append(append(b, text...), 0)
	}
	return b
}

// Append appends the value of a tip.
func Append(b []byte, r *format.Recorded) []byte {
	b = binary.BigEndian.AppendUint64(b, r.Seq)
	b = binary.BigEndian.AppendUint64(b, r.Number)
	return r.AppendFrame(b)
}

// Parse reads the value of a tip; the event shares its memory.
func Parse(shard int, value []byte) (*format.Recorded, error) {
	if len(value) < 16 {
		return nil, fmt.Errorf("%w: a tip of %d bytes", tipstore.ErrDamaged, len(value))
	}
	r, rest, err := format.ParseFrame(value[16:])
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes after the frame", len(rest))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", tipstore.ErrDamaged, err)
	}
	r.Shard, r.Seq, r.Number = shard, binary.BigEndian.Uint64(value), binary.BigEndian.Uint64(value[8:])
	return r, nil
}

// Number returns the number of the event in the value of a tip; 0 if the value is too short.
func Number(value []byte) uint64 {
	if len(value) < 16 {
		return 0
	}
	return binary.BigEndian.Uint64(value[8:])
}

// Get reads a tip with a function of the tip store, such as its Get; tipstore.ErrNotFound if there
// is none.
func Get(get func(key []byte) ([]byte, error), shard int, key format.Key) (*format.Recorded, error) {
	value, err := get(Key(key))
	if err != nil {
		return nil, err
	}
	return Parse(shard, value)
}

// LeftKey returns the key of the part moved out of a state by a revision.
func LeftKey(key format.Key, revision uint64) []byte {
	b := append(Key(key), 0)
	b[0] = left
	return binary.BigEndian.AppendUint64(b, revision)
}

// EndKey returns the key of a shard's applied end.
func EndKey(shard int) []byte {
	return binary.BigEndian.AppendUint16([]byte{applied}, uint16(shard))
}

// EncodeEnd returns the value of an applied end.
func EncodeEnd(h format.Head) []byte {
	var b []byte
	for _, n := range []uint64{h.Seq, h.Events, h.Aggregates, h.Last} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return append(b, h.Hash[:]...)
}

// ParseEnd is the inverse of EncodeEnd.
func ParseEnd(b []byte) (h format.Head, err error) {
	if len(b) != 4*8+len(h.Hash) {
		return h, fmt.Errorf("%w: an applied place of %d bytes", tipstore.ErrDamaged, len(b))
	}
	for i, n := range []*uint64{&h.Seq, &h.Events, &h.Aggregates, &h.Last} {
		*n = binary.BigEndian.Uint64(b[8*i:])
	}
	copy(h.Hash[:], b[32:])
	return h, nil
}

// Ends returns the applied ends of all shards.
func Ends(view tipstore.View) (map[int]format.Head, error) {
	ends := map[int]format.Head{}
	return ends, view.Each([]byte{applied}, func(key, value []byte) error {
		h, err := ParseEnd(value)
		if err == nil && len(key) == 3 {
			ends[int(binary.BigEndian.Uint16(key[1:]))] = h
		}
		return err
	})
}
