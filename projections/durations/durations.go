package durations

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"
	"time"
)

// Bucket is the number of a bucket, from 0 to Buckets - 1.
type Bucket uint16

const (
	firstBits = 7  // bucket 0 ends at 2^7 µs
	lastBits  = 41 // the last buckets begin at 2^41 µs
	partBits  = 3  // of a power of two: 2^3 buckets
	parts     = 1 << partBits
)

// Buckets is the number of buckets.
const Buckets = 1 + (lastBits-firstBits+1)*parts

// BucketOf returns the bucket of a duration. A negative one counts as 0.
func BucketOf(d time.Duration) Bucket {
	micros := uint64(max(0, d.Microseconds()))
	if micros < 1<<firstBits {
		return 0
	}
	power := bits.Len64(micros) - 1
	if power > lastBits {
		return Buckets - 1
	}
	part := micros >> (power - partBits) & (parts - 1)
	return Bucket(1 + (power-firstBits)*parts + int(part))
}

// Limit returns the duration at which the bucket ends. The last one counts as if it ended.
func (b Bucket) Limit() time.Duration {
	if b == 0 {
		return (1 << firstBits) * time.Microsecond
	}
	power, part := firstBits+int(b-1)/parts, int(b-1)%parts
	return time.Duration(parts+part+1) << (power - partBits) * time.Microsecond
}

// The usual shares of a quantile.
const (
	P50 = 0.5
	P99 = 0.99
)

// Count is the number of durations in a bucket.
type Count struct {
	Bucket Bucket
	N      int64
}

// Histogram has the counts of the buckets that are not 0, in their order.
type Histogram []Count

// Add adds n durations to a bucket; a negative n takes some out.
func (h *Histogram) Add(b Bucket, n int64) {
	i, there := slices.BinarySearchFunc(*h, b, func(c Count, b Bucket) int { return cmp.Compare(c.Bucket, b) })
	switch {
	case n == 0:
	case !there:
		*h = slices.Insert(*h, i, Count{b, n})
	case (*h)[i].N+n == 0:
		*h = slices.Delete(*h, i, i+1)
	default:
		(*h)[i].N += n
	}
}

// Merge adds the durations of another histogram.
func (h *Histogram) Merge(other Histogram) {
	for _, c := range other {
		h.Add(c.Bucket, c.N)
	}
}

// Quantile returns a duration that a share of all durations does not exceed; 0 if there are none.
// share is above 0 and at most 1.
func (h Histogram) Quantile(share float64) time.Duration {
	all := int64(0)
	for _, c := range h {
		all += c.N
	}
	rank, below := int64(math.Ceil(share*float64(all))), int64(0)
	for _, c := range h {
		if below += c.N; below >= rank {
			return c.Bucket.Limit()
		}
	}
	return 0
}

// Millis returns a quantile in milliseconds, for an answer; nil if there are no durations.
func (h Histogram) Millis(share float64) *float64 {
	if len(h) == 0 {
		return nil
	}
	return new(float64(h.Quantile(share).Microseconds()) / 1000)
}

// Append appends the histogram to b, as Cut reads it. Its counts are above 0.
func (h Histogram) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(h)))
	last := Bucket(0)
	for _, c := range h {
		b = binary.AppendUvarint(b, uint64(c.Bucket-last))
		b = binary.AppendUvarint(b, uint64(c.N))
		last = c.Bucket
	}
	return b
}

var errHistogram = errors.New("durations: the counts are unreadable")

// Cut reads a histogram at the beginning of b. It calls each with its counts, and returns the rest
// of b.
func Cut(b []byte, each func(Count)) (rest []byte, err error) {
	next := func() (v uint64) {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			err, b = errHistogram, nil
			return 0
		}
		b = b[n:]
		return v
	}
	bucket := uint64(0)
	for left := next(); left > 0 && err == nil; left-- {
		bucket += next()
		n := next()
		if err == nil && (bucket >= Buckets || n > math.MaxInt64) {
			err = errHistogram
		}
		if err == nil {
			each(Count{Bucket(bucket), int64(n)})
		}
	}
	return b, err
}
