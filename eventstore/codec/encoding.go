package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"sync"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"payledger/domain"
)

// fieldTag is the struct tag that names a field in the log.
const fieldTag = "json"

// timestampExt is msgpack's own timestamp type. The library reads it in the machine's zone; the
// ledger's times are UTC.
const timestampExt = -1

func init() {
	msgpack.RegisterExtDecoder(timestampExt, time.Time{}, func(d *msgpack.Decoder, v reflect.Value, n int) error {
		b := make([]byte, n)
		if err := d.ReadFull(b); err != nil {
			return err
		}
		t, err := parseTimestamp(b)
		v.Set(reflect.ValueOf(t))
		return err
	})
	msgpack.Register(domain.Metadata(nil), nil, decodeMetadata)
}

// decodeMetadata reads whole numbers as the int64 they were: on the wire a positive one looks
// unsigned.
func decodeMetadata(d *msgpack.Decoder, v reflect.Value) error {
	m, err := d.DecodeMap()
	if err != nil || m == nil {
		v.SetZero()
		return err
	}
	v.Set(reflect.ValueOf(domain.Metadata(Signed(m).(map[string]any))))
	return nil
}

// Signed turns the whole numbers in a decoded value into int64, those above its range excepted.
func Signed(v any) any {
	switch v := v.(type) {
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v)
		}
	case map[string]any:
		for k := range v {
			v[k] = Signed(v[k])
		}
	case []any:
		for i := range v {
			v[i] = Signed(v[i])
		}
	}
	return v
}

// scratch are buffers that values are encoded in before they are copied at their own size: events
// are kept in memory for long.
var scratch = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const scratchKept = 256 << 10 // the largest buffer that is kept for the next value, in bytes: a full group fits

// TakeBuffer returns an empty buffer. Pass it to ReturnBuffer after use.
func TakeBuffer() *bytes.Buffer {
	b := scratch.Get().(*bytes.Buffer)
	b.Reset()
	return b
}

// ReturnBuffer keeps a buffer for the next TakeBuffer, unless it grew large.
func ReturnBuffer(b *bytes.Buffer) {
	if b.Cap() <= scratchKept {
		scratch.Put(b)
	}
}

// Marshal returns v as the log stores it (doc.go).
func Marshal(v any) ([]byte, error) {
	b := TakeBuffer()
	defer ReturnBuffer(b)
	err := MarshalTo(b, v)
	return bytes.Clone(b.Bytes()), err
}

// MarshalTo appends the encoding of v to b.
func MarshalTo(b *bytes.Buffer, v any) error {
	e := encoder{b: b.AvailableBuffer()}
	e.value(reflect.ValueOf(v))
	b.Write(e.b)
	return e.err
}

// Unmarshal is the inverse of Marshal.
func Unmarshal(data []byte, v any) error {
	if err := CheckWire(data); err != nil {
		return err
	}
	dec := msgpack.GetDecoder()
	defer msgpack.PutDecoder(dec)
	dec.Reset(bytes.NewReader(data))
	dec.SetCustomStructTag(fieldTag)
	dec.UseLooseInterfaceDecoding(true)
	return dec.Decode(v)
}

// UnmarshalGeneric decodes a map without Go types. Unlike Unmarshal it keeps bytes apart from
// texts.
func UnmarshalGeneric(data []byte, m *map[string]any) error {
	if err := CheckWire(data); err != nil {
		return err
	}
	dec := msgpack.GetDecoder()
	defer msgpack.PutDecoder(dec)
	dec.Reset(bytes.NewReader(data))
	if err := dec.Decode(m); err != nil {
		return err
	}
	widened(*m)
	return nil
}

// widened turns numbers of every size in a decoded value into int64, uint64 (above int64's range)
// and float64.
func widened(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = widened(v[k])
		}
		return v
	case []any:
		for i := range v {
			v[i] = widened(v[i])
		}
		return v
	}
	switch n := reflect.ValueOf(v); {
	case n.CanInt():
		return n.Int()
	case n.CanUint():
		return Signed(n.Uint())
	case n.CanFloat():
		return n.Float()
	}
	return v
}

func parseTimestamp(b []byte) (time.Time, error) {
	switch len(b) {
	case 4:
		return time.Unix(int64(binary.BigEndian.Uint32(b)), 0).UTC(), nil
	case 8:
		v := binary.BigEndian.Uint64(b)
		return time.Unix(int64(v&(1<<34-1)), int64(v>>34)).UTC(), nil
	case 12:
		nanos := binary.BigEndian.Uint32(b)
		return time.Unix(int64(binary.BigEndian.Uint64(b[4:])), int64(nanos)).UTC(), nil
	default:
		return time.Time{}, fmt.Errorf("eventstore: timestamp of %d bytes", len(b))
	}
}
