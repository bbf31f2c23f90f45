package format

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// How the frames of a group are stored.
const (
	StoredPlain = 0 // as they are
	storedZstd1 = 1 // zstd with dictionary 1
)

// dictionary1 was made from events of many payments (see testdata/README.md). Groups depend on it:
// it never changes.
//
//go:embed dictionary1.zstd
var dictionary1 []byte

// zstdWindow bounds the memory of the encoder and of the decoder: groups are small.
const zstdWindow = 256 << 10

// encoders are taken last in, first out: what the last one has in the processor's cache makes a
// lone append 10 µs faster. There are as many as were ever needed at once, at most one a shard.
var encoders stack

type stack struct {
	mu          sync.Mutex
	ready, used []*zstd.Encoder
}

func (s *stack) get() *zstd.Encoder {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, from := range []*[]*zstd.Encoder{&s.ready, &s.used} {
		if last := len(*from) - 1; last >= 0 {
			e := (*from)[last]
			*from = (*from)[:last]
			return e
		}
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderDict(dictionary1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("eventstore: dictionary 1: " + err.Error())
	}
	return e
}

// MakeEncoders makes encoders that are used first (tests: an encoder that is made in a bubble of
// testing/synctest works only there).
func MakeEncoders(n int) {
	all := make([]*zstd.Encoder, n)
	for i := range all {
		all[i] = encoders.get()
	}
	for _, e := range all {
		e.EncodeAll([]byte{0}, nil)
		encoders.give(e)
	}
	decoder()
}

func (s *stack) give(e *zstd.Encoder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = append(s.used, e)
}

// refresh makes a used encoder ready. Before its next frames an encoder copies the dictionary's
// table, 256 KiB, which takes up to 15 µs; a single byte leaves the copy as it is. So the next
// append finds the copy made while the disk worked for this one.
func (s *stack) refresh() {
	s.mu.Lock()
	last := len(s.used) - 1
	if last < 0 {
		s.mu.Unlock()
		return
	}
	e := s.used[last]
	s.used = s.used[:last]
	s.mu.Unlock()
	e.EncodeAll([]byte{0}, make([]byte, 0, 32))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = append(s.ready, e)
}

// RefreshEncoder makes an encoder ready for the next group. Call it after a group is sent, while
// the disk works.
func RefreshEncoder() { encoders.refresh() }

var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderDicts(dictionary1), zstd.WithDecoderConcurrency(4),
		zstd.WithDecoderMaxMemory(MaxFrameBytes), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic("eventstore: dictionary 1: " + err.Error())
	}
	return d
})

const compressFrom = 64

func compress(b, frames []byte) (how byte, all []byte) {
	start := len(b)
	if len(frames) >= compressFrom {
		e := encoders.get()
		b = e.EncodeAll(frames, b)
		encoders.give(e)
		if len(b)-start < len(frames) {
			return storedZstd1, b
		}
		b = b[:start]
	}
	return StoredPlain, append(b, frames...)
}

func decompress(how byte, stored []byte, size int) ([]byte, error) {
	switch how {
	case StoredPlain:
		if len(stored) != size {
			return nil, fmt.Errorf("%d bytes instead of %d", len(stored), size)
		}
		return stored, nil
	case storedZstd1:
		frames, err := decoder().DecodeAll(stored, make([]byte, 0, size))
		if err == nil && len(frames) != size {
			err = fmt.Errorf("%d bytes instead of %d", len(frames), size)
		}
		return frames, err
	default:
		return nil, fmt.Errorf("compression %d is not known", how)
	}
}
