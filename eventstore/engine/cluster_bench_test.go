package engine_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/jetapi"
)

// BenchmarkLatest loads one aggregate as Latest on a cluster of three servers, with a number of
// readers on one node and on all nodes, by the lease of the shard's owner and by a majority. B/read
// is the growth of the log by the empty groups of the readers, on one replica. leader-ms is the
// median of one read at the leader of the stream, which cannot prove that it still leads.
func BenchmarkLatest(b *testing.B) {
	r := cluster(b, 1)
	key := keyIn(r.store(), 0)
	mustAdd(b, r.store(), key, added{N: 1})
	for _, c := range []struct {
		reads string
		nodes int
		least eventstore.Consistency
	}{
		{"lease", 1, eventstore.Latest},
		{"lease", 3, eventstore.Latest},
		{"majority", 1, eventstore.Majority},
	} {
		for _, readers := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("reads=%s/nodes=%d/readers=%d", c.reads, c.nodes, readers), func(b *testing.B) {
				before, err := r.store().Size(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				times := concurrently(b, readers, func(i int) error {
					return second(eventstore.Load(testContext(b), r.nodes[i%c.nodes].store, tallies, key, c.least))
				})
				after, err := r.store().Size(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(milliseconds(times[len(times)/2]), "p50-ms")
				b.ReportMetric(milliseconds(times[len(times)*99/100]), "p99-ms")
				b.ReportMetric(float64(after.Bytes-before.Bytes)/float64(b.N), "B/read")
				b.ReportMetric(float64(after.Groups-before.Groups)/float64(b.N), "groups/read")
			})
		}
	}
	b.Run("leader", func(b *testing.B) {
		api := &jetapi.Client{Conn: r.connect(b, 0), Replicas: len(r.nodes)}
		times := concurrently(b, 1, func(int) error {
			return second(api.AtLeader(b.Context(), engine.StreamName(0), jetapi.Get{LastBySubject: "ledger.0.1"}))
		})
		b.ReportMetric(milliseconds(times[len(times)/2]), "leader-ms")
	})
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// concurrently makes the b.N calls of a benchmark from a number of goroutines, and returns how long
// each took, in order.
func concurrently(b *testing.B, callers int, call func(caller int) error) (times []time.Duration) {
	b.Helper()
	times = make([]time.Duration, b.N)
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for caller := range callers {
		all.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= b.N {
					return
				}
				begin := time.Now()
				if err := call(caller); err != nil {
					b.Error(err)
				}
				times[n] = time.Since(begin)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	slices.Sort(times)
	return times
}

// BenchmarkAppendNodes appends to a cluster of three servers, through one node and through all.
func BenchmarkAppendNodes(b *testing.B) {
	r := cluster(b, 4)
	for _, nodes := range []int{1, 2, 3} {
		for _, writers := range []int{1, 3, 64} {
			b.Run(fmt.Sprintf("nodes=%d/writers=%d", nodes, writers), func(b *testing.B) {
				times := concurrently(b, writers, func(i int) error {
					return second(add(b, r.nodes[i%nodes].store, newKey(), added{N: 1}))
				})
				b.ReportMetric(milliseconds(times[len(times)/2]), "p50-ms")
				b.ReportMetric(milliseconds(times[len(times)*99/100]), "p99-ms")
			})
		}
	}
}
