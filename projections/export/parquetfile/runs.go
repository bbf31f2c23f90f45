package parquetfile

import (
	"encoding/binary"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// appendRuns appends values of some bits: a run of 8 or more equal values as the value with its
// number, others in groups of 8, each value in its bits. The last group is filled with zeros.
func appendRuns(to []byte, values []uint32, width int) []byte {
	for len(values) > 0 {
		if n := run(values); n >= 8 {
			to = binary.AppendUvarint(to, uint64(n)<<1)
			for shift := 0; shift < width; shift += 8 {
				to = append(to, byte(values[0]>>shift))
			}
			values = values[n:]
			continue
		}
		n := 8
		for n < len(values) && run(values[n:]) < 8 {
			n += 8
		}
		to = binary.AppendUvarint(to, uint64(n/8)<<1|1)
		to = appendBits(to, values[:min(n, len(values))], n, width)
		values = values[min(n, len(values)):]
	}
	return to
}

// run returns the number of values at the begin that are equal.
func run(values []uint32) int {
	n := 1
	for n < len(values) && values[n] == values[0] {
		n++
	}
	return n
}

// appendBits appends the bits of n values, those behind the given ones as zeros. n is a multiple of
// 8.
func appendBits(to []byte, values []uint32, n, width int) []byte {
	var open uint64
	held := 0
	for i := range n {
		if i < len(values) {
			open |= uint64(values[i]) << held
		}
		for held += width; held >= 8; held -= 8 {
			to = append(to, byte(open))
			open >>= 8
		}
	}
	return to
}

func little32(to []byte, n int) []byte { return binary.LittleEndian.AppendUint32(to, uint32(n)) }

const window = 2 << 20

// compression is one encoder for all files: each has 16 MB.
var compression = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false), zstd.WithWindowSize(window))
	if err != nil {
		panic("parquetfile: " + err.Error())
	}
	return e
})
