package deliverylog_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

// putMany puts n records with new names concurrently, and returns their places by name.
func putMany(t testing.TB, d *deliverylog.Stream, prefix string, n int) map[string]uint64 {
	t.Helper()
	var mu sync.Mutex
	var writers sync.WaitGroup
	places := map[string]uint64{}
	for i := range n {
		name := fmt.Sprintf("acct1.end1.%s%d.KIND", prefix, i)
		writers.Go(func() {
			seq, err := d.Put(context.Background(), name, 0, []byte(name), true)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			places[name] = seq
		})
	}
	writers.Wait()
	return places
}

// TestDeliveryGroup: Put returns the place of each of many concurrent records. A lost
// compare-and-swap refuses only its own record, not the others of the group.
func TestDeliveryGroup(t *testing.T) { // not parallel: its six hundred writers would delay other tests
	store := eventstoretest.Open(t, t.TempDir())
	d := store.Deliveries()
	ctx := context.Background()
	taken := "acct1.end1.event7.KIND"
	first, err := d.Put(ctx, taken, 0, []byte("first"), true)
	if err != nil {
		t.Fatal(err)
	}
	const n = 300
	var mu sync.Mutex
	var writers sync.WaitGroup
	places, conflicts := map[string]uint64{}, 0
	for i := range n {
		name := fmt.Sprintf("acct1.end1.event%d.KIND", i)
		for _, body := range []string{name + " a", name + " b"} { // two writers for each name, of which one wins
			writers.Go(func() {
				seq, err := d.Put(ctx, name, 0, []byte(body), true)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.Is(err, eventstore.ErrConflict):
					conflicts++
				case err != nil:
					t.Error(err)
				default:
					places[body] = seq
				}
			})
		}
	}
	writers.Wait()
	if len(places) != n-1 || conflicts != n+1 {
		t.Fatalf("%d stored, %d conflicts", len(places), conflicts)
	}
	for body, seq := range places {
		name, _, _ := strings.Cut(body, " ")
		if there, err := d.Last(ctx, name); err != nil || there.Seq != seq || string(there.Body) != body {
			t.Errorf("%s was stored at %d; the stream has %+v %v", body, seq, there, err)
		}
	}
	if there, err := d.Last(ctx, taken); err != nil || there.Seq != first {
		t.Errorf("%+v %v", there, err)
	}
}

// TestFollow: Follow returns every record once and in order, existing and new records, from any
// place on, also after a restart. Records that belong to no delivery are marked.
func TestFollow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const half = 700
	want := 0
	var seen []deliverylog.Record
	for range 2 {
		func() {
			server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = server.Close() }()
			store, err := engine.Open(context.Background(), eventstoretest.Config(server))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = store.Close() }()
			d := store.Deliveries()
			putMany(t, d, fmt.Sprintf("before%d-", want), half)
			if last, err := d.Last(context.Background(), "beside"); err != nil && !errors.Is(err, eventstore.ErrNotFound) {
				t.Fatal(err)
			} else if _, err := d.Put(context.Background(), "beside", last.Seq, []byte("beside"), false); err != nil {
				t.Fatal(err)
			}
			want += 2 * half
			from := uint64(1)
			if len(seen) > 0 {
				from = seen[len(seen)-1].Seq + 1
			}
			var writing sync.WaitGroup
			writing.Go(func() { putMany(t, d, fmt.Sprintf("after%d-", want), half) })
			err = d.Follow(context.Background(), from, func(page []deliverylog.Record) error {
				for _, stored := range page {
					if seen = append(seen, stored); !stored.IsDelivery() {
						seen = seen[:len(seen)-1]
					}
				}
				if len(seen) >= want {
					return io.EOF
				}
				return nil
			})
			writing.Wait()
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			if err := d.Follow(context.Background(), seen[len(seen)-1].Seq+100_000, nil); !errors.Is(err, deliverylog.ErrShort) {
				t.Errorf("beyond the end: %v", err)
			}
		}()
	}
	names := map[string]bool{}
	for i, s := range seen {
		if names[s.Name] || string(s.Body) != s.Name || i > 0 && s.Seq <= seen[i-1].Seq {
			t.Fatalf("record %d: %+v", i, s)
		}
		names[s.Name] = true
	}
	if len(seen) != want {
		t.Errorf("%d of %d", len(seen), want)
	}
}

// BenchmarkDeliveries measures the records per second of concurrent Puts, and of Follow from the
// first record.
func BenchmarkDeliveries(b *testing.B) {
	d := eventstoretest.Open(b, b.TempDir()).Deliveries()
	const n = 20_000
	for b.Loop() {
		start := time.Now()
		var writers sync.WaitGroup
		body := make([]byte, 450)
		for w := range 256 {
			writers.Go(func() {
				for i := w; i < n; i += 256 {
					if _, err := d.Put(context.Background(), fmt.Sprintf("acct1.5d0f3c1e-2b6a-4f7d-9c8e-0a1b2c3d4e5f.%d-%d.KIND", start.UnixNano(), i), 0, body, true); err != nil {
						b.Error(err)
					}
				}
			})
		}
		writers.Wait()
		b.ReportMetric(n/time.Since(start).Seconds(), "put/s")
		start = time.Now()
		followed := 0
		_ = d.Follow(context.Background(), 1, func(page []deliverylog.Record) error {
			if followed += len(page); followed >= n {
				return io.EOF
			}
			return nil
		})
		b.ReportMetric(float64(followed)/time.Since(start).Seconds(), "followed/s")
	}
}

// TestFollowOthers: Follow returns a record of another node once it is durable, in its order.
func TestFollowOthers(t *testing.T) {
	t.Parallel()
	c := eventstoretest.Cluster(t)
	writer := eventstoretest.OpenOn(t, c).Deliveries()
	reader := eventstoretest.OpenOn(t, c).Deliveries()
	ctx := context.Background()
	next := func(from uint64) (seen deliverylog.Record) {
		t.Helper()
		err := reader.Follow(ctx, from, func(page []deliverylog.Record) error {
			seen = page[0]
			return io.EOF
		})
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return seen
	}
	from := uint64(1)
	for i, d := range []*deliverylog.Stream{reader, writer, reader, writer, writer} {
		name := fmt.Sprintf("acct1.end1.event%d.KIND", i)
		seq, err := d.Put(ctx, name, 0, []byte(name), i%2 == 0)
		if err != nil {
			t.Fatal(err)
		}
		if seen := next(from); seen.Seq != seq || seen.Name != name || string(seen.Body) != name {
			t.Errorf("put at %d, Follow returns %+v", seq, seen)
		}
		from = seq + 1
	}
}
