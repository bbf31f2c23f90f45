package tiprow

import (
	"encoding/binary"
	"fmt"

	"payledger/eventstore/tipstore"
)

// Times are the times of the events in a stretch of a shard's groups.
type Times struct {
	Groups          uint64 // of the stretch: as many as all stretches before it have
	Through         uint64 // the last group whose events count
	Least, Greatest int64  // microseconds since 1970
}

// TimesOf returns the beginning of the keys of a shard's times.
func TimesOf(shard int) []byte { return binary.BigEndian.AppendUint16([]byte{times}, uint16(shard)) }

// TimesKey returns the key of the times of a stretch, by its number from 0.
func TimesKey(shard, number int) []byte {
	return binary.BigEndian.AppendUint32(TimesOf(shard), uint32(number))
}

// Append appends the value of the times.
func (t Times) Append(b []byte) []byte {
	for _, n := range []uint64{t.Groups, t.Through, uint64(t.Least), uint64(t.Greatest)} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

// ParseTimes is the inverse of Append.
func ParseTimes(b []byte) (t Times, err error) {
	if len(b) != 4*8 {
		return t, fmt.Errorf("%w: times of %d bytes", tipstore.ErrDamaged, len(b))
	}
	t.Groups, t.Through = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
	t.Least, t.Greatest = int64(binary.BigEndian.Uint64(b[16:])), int64(binary.BigEndian.Uint64(b[24:]))
	return t, nil
}
