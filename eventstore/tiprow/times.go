package tiprow

import (
	"bytes"
	"encoding/binary"
	"errors"
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
	if t.Groups == 0 {
		return t, fmt.Errorf("%w: the times of a stretch of no groups", tipstore.ErrDamaged)
	}
	return t, nil
}

// rows is a tip store, or a view of one.
type rows interface {
	Each(prefix []byte, handle func(key, value []byte) error) error
}

var errOther = errors.New("tiprow: the next rows are of smaller stretches")

// ReadTimes returns the times of a shard's stretches, from group 1 on. Behind them may be rows of
// smaller stretches, from before these became one.
func ReadTimes(in rows, shard int) (all []Times, err error) {
	err = in.Each(TimesOf(shard), func(key, value []byte) error {
		t, err := ParseTimes(value)
		switch {
		case err != nil:
			return err
		case len(all) > 0 && t.Groups != all[0].Groups:
			return errOther
		case !bytes.Equal(key, TimesKey(shard, len(all))):
			return fmt.Errorf("%w: the times of stretch %d are missing", tipstore.ErrDamaged, len(all))
		}
		all = append(all, t)
		return nil
	})
	if errors.Is(err, errOther) {
		err = nil
	}
	return all, err
}
