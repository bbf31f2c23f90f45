package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

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

// TestDeliveryGroup: each of many concurrent records is stored at the place that its writer gets; a record that lost the
// compare-and-swap is refused alone.
func TestDeliveryGroup(t *testing.T) { // alone: six hundred writers at once leave others no time, and get none
	store := eventstoretest.Open(t, t.TempDir())
	d := openDeliveries(t, store)
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
		for _, body := range []string{name + " a", name + " b"} { // two writers of each name: one wins
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
			t.Errorf("%s was told %d, there is %+v %v", body, seq, there, err)
		}
	}
	if there, err := d.Last(ctx, taken); err != nil || there.Seq != first {
		t.Errorf("%+v %v", there, err)
	}
}

// TestFollow: every record comes once, in order, those that are there and those that come; from any place on, also
// after a restart; records beside deliveries are marked as such.
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
			err = d.Follow(context.Background(), from, func(page []eventstore.StoredDelivery) error {
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
			if err := d.Follow(context.Background(), seen[len(seen)-1].Seq+100_000, nil); !errors.Is(err, eventstore.ErrShort) {
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

// TestDeliverySubjects: however many deliveries there are, a segment has one subject: the server keeps each subject in memory
// for ever.
func TestDeliverySubjects(t *testing.T) {
	t.Parallel()
	store := eventstoretest.Open(t, t.TempDir())
	putMany(t, openDeliveries(t, store), "event", 500)
	js, err := jetstream.New(store.Conn())
	if err != nil {
		t.Fatal(err)
	}
	list := js.ListStreams(context.Background())
	found := 0
	for info := range list.Info() {
		if found += strings.Count(info.Config.Name, "DELIVERIES_"); info.State.NumSubjects > 1 {
			t.Errorf("%s has %d subjects", info.Config.Name, info.State.NumSubjects)
		}
	}
	if list.Err() != nil || found != 1 {
		t.Error(found, list.Err())
	}
}

// TestWaiting: pages of any size together are the open deliveries of one endpoint, at their newest places, whether the tip
// store has them already or not, and after a restart; and the endpoints that have any are listed.
func TestWaiting(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), context.Background()
	places := map[string]uint64{}
	put := func(d *eventstore.DeliveryStream, name string, open bool) {
		t.Helper()
		place, err := d.Put(ctx, name, places[name], fmt.Appendf(nil, "%s %d", name, places[name]), open)
		if err != nil {
			t.Fatal(err)
		}
		places[name] = place
	}
	waiting := map[string]bool{} // by name
	for round := range 3 {
		func() {
			server, err := eventstore.StartServer(eventstore.ServerConfig{Dir: dir, Name: "test"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = server.Close() }()
			c := eventstoretest.Config(server)
			c.SoleWriter = true
			store, err := eventstore.Open(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = store.Close() }()
			d := openDeliveries(t, store)
			checkWaiting(t, d, places, waiting)
			for i := range 100 {
				name := fmt.Sprintf("acct1.end%d.event%d.KIND", i%4, i)
				waiting[name] = (i+round)%3 > 0 && i%4 < 3
				put(d, name, waiting[name])
				if i%10 == round {
					if err := store.FlushTips(); err != nil {
						t.Fatal(err)
					}
				}
			}
			checkWaiting(t, d, places, waiting)
		}()
	}
}

// checkWaiting holds the lists of open deliveries to what they must be.
func checkWaiting(t *testing.T, d *eventstore.DeliveryStream, places map[string]uint64, waiting map[string]bool) {
	t.Helper()
	ctx := context.Background()
	of := map[string]map[string]uint64{} // by endpoint and name
	for name, open := range waiting {
		lane := strings.Join(strings.SplitN(name, ".", 3)[:2], ".")
		if open && of[lane] == nil {
			of[lane] = map[string]uint64{}
		}
		if open {
			of[lane][name] = places[name]
		}
	}
	lanes, err := d.Lanes(ctx)
	slices.Sort(lanes)
	if want := slices.Sorted(maps.Keys(of)); err != nil || !slices.Equal(lanes, want) {
		t.Errorf("endpoints %q %v, want %q", lanes, err, want)
	}
	for _, size := range []int{1, 7, 100} {
		for _, lane := range append(lanes, "acct1.end") {
			got := map[string]uint64{}
			for from, end := uint64(1), false; !end; {
				var page []eventstore.StoredDelivery
				if page, end, err = d.Waiting(ctx, lane, from, size); err != nil || len(page) > size {
					t.Fatal(len(page), err)
				}
				for _, s := range page {
					if s.Seq < from {
						t.Errorf("%d after %d", s.Seq, from)
					}
					got[s.Name], from = s.Seq, s.Seq+1
				}
			}
			if !maps.Equal(got, of[lane]) {
				t.Errorf("pages of %d of %s: %v, want %v", size, lane, got, of[lane])
			}
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
		_ = d.Follow(context.Background(), 1, func(page []eventstore.StoredDelivery) error {
			if followed += len(page); followed >= n {
				return io.EOF
			}
			return nil
		})
		b.ReportMetric(float64(followed)/time.Since(start).Seconds(), "followed/s")
	}
}
