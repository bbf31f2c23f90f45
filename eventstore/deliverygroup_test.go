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
	return bytes.Contains(piece, []byte(`"stream":"DELIVERIES"`)) && bytes.Contains(piece, []byte(`"seq":`)) && !bytes.Contains(piece, []byte(`"error"`))
}

// TestDeliveryLostAck: the answer to a record, or to a batch of them, is lost after it was stored. What stands there tells
// whose it is: its writer succeeds, at the place where it stands; another writer of the name does not.
func TestDeliveryLostAck(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*proxy){
		"dropped": func(*proxy) {},
		"cut":     func(p *proxy) { p.Drop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p, _ := remote(t)
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
					if _, err := d.Put(ctx, name, 0, []byte("another")); !errors.Is(err, eventstore.ErrConflict) {
						t.Errorf("another first record of %s: %v", name, err)
					}
					if n > 1 {
						break // one of many is enough
					}
				}
			}
		})
	}
}

// TestDeliveryOrder: records leave in the order in which they came, but that deliveries' first ones go before outcomes.
func TestDeliveryOrder(t *testing.T) {
	t.Parallel()
	var q eventstore.DeliveryQueue
	take := func(n int, want ...string) {
		t.Helper()
		if got := q.Take(n); !slices.Equal(got, want) {
			t.Errorf("taken %q, want %q", got, want)
		}
	}
	q.Add("outcome 1", 5)
	q.Add("first 1", 0)
	q.Add("outcome 2", 6)
	q.Add("first 2", 0)
	take(1, "first 1")
	q.Add("first 3", 0)
	take(2, "first 2", "first 3")
	q.Add("outcome 3", 7)
	take(1, "outcome 1")
	q.Add("first 4", 0)
	take(2, "first 4", "outcome 2")
	q.Add("first 5", 0)
	take(2, "first 5", "outcome 3")
}

// TestFollowWaits: a record of which only another process knows whether it is durable is handed out once a later record
// of this one is: the fence.
func TestFollowWaits(t *testing.T) {
	t.Parallel()
	server, err := eventstore.StartServer(eventstore.ServerConfig{Dir: t.TempDir(), Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	writer := openDeliveries(t, eventstoretest.OpenOn(t, eventstoretest.Config(server)))
	reader := openDeliveries(t, eventstoretest.OpenOn(t, eventstoretest.Config(server)))
	ctx := context.Background()
	put := func(d *eventstore.DeliveryStream, name string) uint64 {
		t.Helper()
		seq, err := d.Put(ctx, name, 0, []byte(name))
		if err != nil {
			t.Fatal(err)
		}
		return seq
	}
	next := func(from uint64) (seq uint64) {
		t.Helper()
		err := reader.Follow(ctx, from, func(page []eventstore.StoredDelivery) error {
			seq = page[len(page)-1].Seq
			return io.EOF
		})
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return seq
	}
	own := put(reader, "acct1.end1.own.KIND")
	if next(own); fenced(t, reader) != 0 {
		t.Error("a fence for a record whose answer came here")
	}
	other := put(writer, "acct1.end1.other.KIND")
	if seq := next(own + 1); seq != other || fenced(t, reader) < other {
		t.Errorf("handed out %d, the fence stands at %d", seq, fenced(t, reader))
	}
}

// fenced is the place of the fence; 0 when there is none.
func fenced(t *testing.T, d *eventstore.DeliveryStream) uint64 {
	t.Helper()
	there, err := d.Last(context.Background(), "fence")
	if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
		t.Fatal(err)
	}
	return there.Seq
}
