package eventstore_test

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
	"payledger/eventstore/eventstoretest"
)

func openDeliveries(t testing.TB, s *eventstore.Store) *eventstore.DeliveryStream {
	t.Helper()
	d, err := s.OpenDeliveries(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// putMany puts n records of new names side by side, and gives their places by name.
func putMany(t testing.TB, d *eventstore.DeliveryStream, prefix string, n int) map[string]uint64 {
	t.Helper()
	var mu sync.Mutex
	var writers sync.WaitGroup
	places := map[string]uint64{}
	for i := range n {
		name := fmt.Sprintf("acct1.end1.%s%d.KIND", prefix, i)
		writers.Go(func() {
			seq, err := d.Put(context.Background(), name, 0, []byte(name))
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

// TestDeliveryGroup: records that are put side by side are stored each at the place that its writer is told, and one
// that somebody else came first with is refused alone.
func TestDeliveryGroup(t *testing.T) { // alone: six hundred writers at once leave others no time, and get none
	store := eventstoretest.Open(t, t.TempDir())
	d := openDeliveries(t, store)
	ctx := context.Background()
	taken := "acct1.end1.event7.KIND"
	first, err := d.Put(ctx, taken, 0, []byte("first"))
	if err != nil {
		t.Fatal(err)
	}
	const n = 300
	var mu sync.Mutex
	var writers sync.WaitGroup
	places, conflicts := map[string]uint64{}, 0
	for i := range n {
		name := fmt.Sprintf("acct1.end1.event%d.KIND", i)
		for _, body := range []string{name + " a", name + " b"} { // two writers of each name: one wins
			writers.Go(func() {
				seq, err := d.Put(ctx, name, 0, []byte(body))
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
			t.Errorf("%s was told %d, there is %+v %v", body, seq, there, err)
		}
	}
	if there, err := d.Last(ctx, taken); err != nil || there.Seq != first {
		t.Errorf("%+v %v", there, err)
	}
}

// TestFollow: every record comes once, in order, those that are there and those that come; from any place on, also
// after a restart; what stands beside deliveries does not come.
func TestFollow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const half = 700
	want := 0
	var seen []eventstore.StoredDelivery
	for range 2 {
		func() {
			server, err := eventstore.StartServer(eventstore.ServerConfig{Dir: dir, Name: "test"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = server.Close() }()
			store, err := eventstore.Open(context.Background(), eventstoretest.Config(server))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = store.Close() }()
			d := openDeliveries(t, store)
			putMany(t, d, fmt.Sprintf("before%d-", want), half)
			if err := d.Replace(context.Background(), "position", []byte("x")); err != nil {
				t.Fatal(err)
			}
			want += 2 * half
			from := uint64(1)
			if len(seen) > 0 {
				from = seen[len(seen)-1].Seq + 1
			}
			var writing sync.WaitGroup
			writing.Go(func() { putMany(t, d, fmt.Sprintf("after%d-", want), half) })
			err = d.Follow(context.Background(), from, func(page []eventstore.StoredDelivery) error {
				if seen = append(seen, page...); len(seen) >= want {
					return io.EOF
				}
				return nil
			})
			writing.Wait()
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			if err := d.Follow(context.Background(), seen[len(seen)-1].Seq+100, nil); !errors.Is(err, eventstore.ErrShort) {
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

// TestScanPages: pages of any size together are the whole, of one pattern alone.
func TestScanPages(t *testing.T) {
	t.Parallel()
	d := openDeliveries(t, eventstoretest.Open(t, t.TempDir()))
	ctx := context.Background()
	for i := range 100 {
		if _, err := d.Put(ctx, fmt.Sprintf("acct1.end%d.event%d.KIND", i%3, i), 0, []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, size := range []int{1, 7, 34, 100} {
		n := 0
		for from, end := uint64(1), false; !end; {
			var page []eventstore.StoredDelivery
			var err error
			if page, end, err = d.Scan(ctx, "acct1.end0.*.*", from, size); err != nil || len(page) > size {
				t.Fatal(len(page), err)
			}
			for _, s := range page {
				if !strings.HasPrefix(s.Name, "acct1.end0.") || s.Seq < from || int(s.Body[0]) != 3*n {
					t.Errorf("%+v", s)
				}
				from, n = s.Seq+1, n+1
			}
		}
		if n != 34 {
			t.Errorf("pages of %d: %d records", size, n)
		}
	}
}

// BenchmarkDeliveries: records a second, put side by side, and followed from the first.
func BenchmarkDeliveries(b *testing.B) {
	d := openDeliveries(b, eventstoretest.Open(b, b.TempDir()))
	const n = 20_000
	for b.Loop() {
		start := time.Now()
		var writers sync.WaitGroup
		body := make([]byte, 450)
		for w := range 256 {
			writers.Go(func() {
				for i := w; i < n; i += 256 {
					if _, err := d.Put(context.Background(), fmt.Sprintf("acct1.5d0f3c1e-2b6a-4f7d-9c8e-0a1b2c3d4e5f.%d-%d.KIND", start.UnixNano(), i), 0, body); err != nil {
						b.Error(err)
					}
				}
			})
		}
		writers.Wait()
		b.ReportMetric(n/time.Since(start).Seconds(), "put/s")
		start = time.Now()
		followed := 0
		_ = d.Follow(context.Background(), 1, func(page []eventstore.StoredDelivery) error {
			if followed += len(page); followed >= n {
				return io.EOF
			}
			return nil
		})
		b.ReportMetric(float64(followed)/time.Since(start).Seconds(), "followed/s")
	}
}
