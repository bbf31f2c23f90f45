package durations

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"payledger/domain/seedtest"
)

// TestBuckets checks that each bucket ends where the next one begins, and is at most an eighth
// wide.
func TestBuckets(t *testing.T) {
	begin := time.Duration(0)
	for b := Bucket(0); b < Buckets; b++ {
		end := b.Limit()
		if BucketOf(begin) != b || BucketOf(end-time.Microsecond) != b {
			t.Fatalf("bucket %d from %s to %s has %d and %d", b, begin, end, BucketOf(begin), BucketOf(end-time.Microsecond))
		}
		if wide := end - begin; b > 0 && wide*8 > begin {
			t.Errorf("bucket %d from %s is %s wide", b, begin, wide)
		}
		begin = end
	}
	for d, want := range map[time.Duration]Bucket{-time.Hour: 0, 0: 0, begin: Buckets - 1, math.MaxInt64: Buckets - 1} {
		if got := BucketOf(d); got != want {
			t.Errorf("%s is in bucket %d, want %d", d, got, want)
		}
	}
}

// TestQuantiles: a quantile is not below that of the sorted durations, and above it by an eighth at
// most; the bytes give the same histogram again; durations that are taken out leave nothing.
func TestQuantiles(t *testing.T) {
	seedtest.Check(t, func(r *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(0, 1<<rapid.IntRange(1, lastBits).Draw(r, "bits")).Draw(r, "micros")) * time.Microsecond
		}), 1, 200).Draw(r, "durations")
		var one, two, sum Histogram
		for i, d := range all {
			if i%2 == 0 {
				one.Add(BucketOf(d), 1)
			} else {
				two.Add(BucketOf(d), 1)
			}
		}
		sum.Merge(one)
		sum.Merge(two)
		slices.Sort(all)
		for _, share := range []float64{0.5, 0.99, 1} {
			want := all[int(math.Ceil(share*float64(len(all))))-1]
			if got := sum.Quantile(share); got < want || got > want+max(want/8, 128*time.Microsecond) {
				r.Errorf("%g: %s, want %s", share, got, want)
			}
		}
		var read Histogram
		rest, err := Cut(append(sum.Append(nil), "rest"...), func(c Count) { read = append(read, c) })
		if err != nil || string(rest) != "rest" || !reflect.DeepEqual(read, sum) {
			r.Errorf("%v %q %v, want %v", read, rest, err, sum)
		}
		for _, c := range slices.Clone(sum) {
			sum.Add(c.Bucket, -c.N)
		}
		if len(sum) != 0 || sum.Quantile(0.5) != 0 || sum.Millis(0.5) != nil {
			r.Errorf("left is %v", sum)
		}
	})
}

// FuzzCut: any bytes are read or refused.
func FuzzCut(f *testing.F) {
	f.Add(Histogram{{3, 1}, {200, 300}}.Append(nil))
	f.Add([]byte{200, 200})
	f.Fuzz(func(t *testing.T, b []byte) {
		rest, err := Cut(b, func(c Count) {
			if c.Bucket >= Buckets || c.N < 0 {
				t.Errorf("%+v", c)
			}
		})
		if err == nil && len(rest) > len(b) {
			t.Errorf("%d bytes are left of %d", len(rest), len(b))
		}
	})
}
