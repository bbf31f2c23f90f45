package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

// isDeliveryAck reports whether bytes are the answer to a successful publish of a delivery, or of a
// batch of them.
func isDeliveryAck(piece []byte) bool {
	return bytes.Contains(piece, []byte(`"stream":"DELIVERIES_1"`)) && bytes.Contains(piece, []byte(`"seq":`)) && !bytes.Contains(piece, []byte(`"error"`))
}

// TestDeliveryLostAck loses the answer to a record, or to a batch of them, after it was stored. The
// stored bytes decide: their writer succeeds, at the stored place, and another writer of the name
// does not.
func TestDeliveryLostAck(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*proxy){
		"dropped": func(*proxy) {},
		"cut":     func(p *proxy) { p.Drop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWriter(t, func(t *testing.T, f far, s *engine.Store) {
				d, p := s.Deliveries(), f.proxy
				ctx := context.Background()
				for _, n := range []int{1, 200} {
					var once sync.Once
					p.Answers(func(piece []byte) bool {
						lost := false
						if isDeliveryAck(piece) {
							once.Do(func() { lost = true; lose(p) })
						}
						return !lost
					})
					places := putMany(t, d, fmt.Sprintf("of%d-", n), n)
					if len(places) != n {
						t.Fatalf("%d of %d", len(places), n)
					}
					for name, seq := range places {
						if there, err := d.Last(ctx, name); err != nil || there.Seq != seq || string(there.Body) != name {
							t.Errorf("%s got %d, there is %+v %v", name, seq, there, err)
						}
						if _, err := d.Put(ctx, name, 0, []byte("another"), true); !errors.Is(err, eventstore.ErrConflict) {
							t.Errorf("another first record of %s: %v", name, err)
						}
						if n > 1 {
							break // one of many is enough
						}
					}
				}
			})
		})
	}
}

// TestDeliveryOrder: the queue returns drafts in the order in which they came, with one exception.
// The first record of a delivery overtakes outcomes, unless an outcome has waited for long.
func TestDeliveryOrder(t *testing.T) {
	t.Parallel()
	var q engine.DeliveryQueue
	wantNext := func(n int, want ...string) {
		t.Helper()
		if got := q.Take(n); !slices.Equal(got, want) {
			t.Errorf("taken %q, want %q", got, want)
		}
	}
	q.Add("outcome 1", 2, 0)
	q.Add("first 1", 1, 0)
	q.Add("outcome 2", 3, 0)
	q.Add("first 2", 1, 0)
	wantNext(1, "first 1")
	q.Add("first 3", 1, 0)
	wantNext(2, "first 2", "first 3")
	q.Add("outcome 3", 2, 0)
	wantNext(1, "outcome 1")
	q.Add("first 4", 1, 0)
	wantNext(2, "first 4", "outcome 2")
	q.Add("first 5", 1, 0)
	wantNext(2, "first 5", "outcome 3")
	q.Add("outcome 4", 2, 0)
	q.Add("first 6", 1, engine.OutcomePatience)
	q.Add("outcome 5", 2, engine.OutcomePatience)
	q.Add("first 7", 1, engine.OutcomePatience+1)
	wantNext(4, "first 6", "outcome 4", "first 7", "outcome 5")
}

// putMany puts n records of new names concurrently, and returns their places by name.
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

// TestWaiting: pages of any size together are the open deliveries of one endpoint, at their newest
// places, whether the tip store has them already or not, and after a restart; and the endpoints
// that have any are listed.
func TestWaiting(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	dir, ctx := t.TempDir(), context.Background()
	places := map[string]uint64{}
	put := func(d *deliverylog.Stream, name string, open bool) {
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
			server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = server.Close() }()
			c := eventstoretest.Config(server)
			store, err := engine.Open(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = store.Close() }()
			d := store.Deliveries()
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

// checkWaiting checks the lists of open deliveries.
func checkWaiting(t *testing.T, d *deliverylog.Stream, places map[string]uint64, waiting map[string]bool) {
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
				var page []deliverylog.Record
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

// TestDeliverySubjects: however many deliveries there are, a segment has one subject: the server
// keeps each subject in memory for ever.
func TestDeliverySubjects(t *testing.T) {
	t.Parallel()
	store := eventstoretest.Open(t, t.TempDir())
	putMany(t, store.Deliveries(), "event", 500)
	js, err := jetstream.New(store.Conn(), jetstream.WithDefaultTimeout(time.Minute))
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
