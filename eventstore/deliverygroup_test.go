package eventstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
)

// isDeliveryAck tells the answer to a successful publish of a delivery, or of a batch of them.
func isDeliveryAck(piece []byte) bool {
	return bytes.Contains(piece, []byte(`"stream":"DELIVERIES_1"`)) && bytes.Contains(piece, []byte(`"seq":`)) && !bytes.Contains(piece, []byte(`"error"`))
}

// TestDeliveryLostAck: the answer to a record, or to a batch of them, is lost after it was stored. The stored bytes decide:
// their writer succeeds, at the place where they stand; another writer of the name does not.
func TestDeliveryLostAck(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*proxy){
		"dropped": func(*proxy) {},
		"cut":     func(p *proxy) { p.Drop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWriter(t, func(t *testing.T, _ *eventstore.Server, s *eventstore.Store, p *proxy, _ <-chan struct{}) {
				d := openDeliveries(t, s)
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
							t.Errorf("%s was told %d, there is %+v %v", name, seq, there, err)
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

// TestDeliveryOrder: records leave in the order in which they came, but that deliveries' first ones go before outcomes,
// and not before those that have waited long.
func TestDeliveryOrder(t *testing.T) {
	t.Parallel()
	q := eventstore.NewDeliveryQueue()
	take := func(n int, want ...string) {
		t.Helper()
		if got := q.Take(n); !slices.Equal(got, want) {
			t.Errorf("taken %q, want %q", got, want)
		}
	}
	q.Add("outcome 1", 2, 0)
	q.Add("first 1", 1, 0)
	q.Add("outcome 2", 3, 0)
	q.Add("first 2", 1, 0)
	take(1, "first 1")
	q.Add("first 3", 1, 0)
	take(2, "first 2", "first 3")
	q.Add("outcome 3", 2, 0)
	take(1, "outcome 1")
	q.Add("first 4", 1, 0)
	take(2, "first 4", "outcome 2")
	q.Add("first 5", 1, 0)
	take(2, "first 5", "outcome 3")
	q.Add("outcome 4", 2, 0)
	q.Add("first 6", 1, eventstore.OutcomePatience)
	q.Add("outcome 5", 2, eventstore.OutcomePatience)
	q.Add("first 7", 1, eventstore.OutcomePatience+1)
	take(4, "first 6", "outcome 4", "first 7", "outcome 5")
}

// TestFollowOthers: a record that another process put is handed out here once it is durable, in its place.
func TestFollowOthers(t *testing.T) {
	t.Parallel()
	server, err := eventstore.StartServer(eventstore.ServerConfig{Dir: t.TempDir(), Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	writer := openDeliveries(t, eventstoretest.OpenOn(t, eventstoretest.Config(server)))
	reader := openDeliveries(t, eventstoretest.OpenOn(t, eventstoretest.Config(server)))
	ctx := context.Background()
	next := func(from uint64) (seen eventstore.StoredDelivery) {
		t.Helper()
		err := reader.Follow(ctx, from, func(page []eventstore.StoredDelivery) error {
			seen = page[0]
			return io.EOF
		})
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return seen
	}
	from := uint64(1)
	for i, d := range []*eventstore.DeliveryStream{reader, writer, reader, writer, writer} {
		name := fmt.Sprintf("acct1.end1.event%d.KIND", i)
		seq, err := d.Put(ctx, name, 0, []byte(name), i%2 == 0)
		if err != nil {
			t.Fatal(err)
		}
		if seen := next(from); seen.Seq != seq || seen.Name != name || string(seen.Body) != name {
			t.Errorf("put at %d, handed out %+v", seq, seen)
		}
		from = seq + 1
	}
}
