package verify_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/folder"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/streams"
	"payledger/eventstore/verify"
)

// rotate drops all segments of SECRETS, after their values were written anew.
func rotate(ctx context.Context, values *secretlog.Stream) error {
	before, _ := values.Generation()
	if err := values.Begin(ctx, before, []byte("proof")); err != nil {
		return err
	}
	generation, _ := values.Generation()
	_, err := values.Reseal(ctx, secretlog.Resealing{
		Generation: generation, Skip: func(string) bool { return false },
		Seal: func(_ string, value []byte) (string, []byte, error) { return "", value, nil },
	})
	return err
}

// deliver puts records of deliveries until a segment is full.
func deliver(ctx context.Context, d *deliverylog.Stream, prefix string) error {
	_, begun, err := d.Segments(ctx)
	for i := 0; err == nil; i++ {
		var open deliverylog.Segment
		if _, open, err = d.Segments(ctx); err == nil && open.Number > begun.Number {
			return nil
		}
		if err == nil {
			_, err = d.Put(ctx, fmt.Sprintf("account.endpoint.%s-%d.kind", prefix, i), 0, make([]byte, 1<<10), false)
		}
	}
	return err
}

// dropOldest drops the oldest segment of deliveries, with its files.
func dropOldest(ctx context.Context, d *deliverylog.Stream) error {
	oldest, _, err := d.Segments(ctx)
	if err == nil {
		_, err = d.Drop(ctx, oldest.Number, oldest.Newest, []uint64{1, 1, 1})
	}
	if err == nil {
		err = d.Sweep(ctx)
	}
	return err
}

// TestRunningLogChanges: payments, new segments, a rotation of the master key and a sweep of
// deliveries, between the begin of a check of a running log and its end, are no faults. The check
// has exactly the events before its begin.
func TestRunningLogChanges(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	madeOn(t, 12, 24<<10, func(l *log, s *engine.Store) {
		values, err := s.OpenSecrets(ctx)
		must(err)
		d := s.Deliveries()
		for i := range 3 {
			must(values.Create(ctx, fmt.Sprintf("value-%d", i), []byte("sealed")))
			must(deliver(ctx, d, fmt.Sprint("early-", i)))
		}
		_, err = eventstoretest.Generate(ctx, s, "before", 1, 1) // groups that name the ends of the other streams
		must(err)
		want := s.Events()
		a, err := s.Archive(ctx)
		must(err)
		must(rotate(ctx, values))
		must(dropOldest(ctx, d))
		grow := func() {
			segments := func() int {
				names, err := folder.Streams(l.dir)
				must(err)
				return len(streams.Segments(0, names))
			}
			for n := segments(); segments() == n; {
				_, err := eventstoretest.Generate(ctx, s, "meanwhile", 4, 4)
				must(err)
			}
			must(values.Create(ctx, "late", []byte("sealed")))
			must(values.Destroy(ctx, "late", "value-1"))
		}
		events, deliveries := 0, 0
		faults, result := l.faults(t, a, func(c *verify.Config) {
			c.Event = func(context.Context, *eventstore.Recorded) error {
				if events++; events == 1 {
					grow()
				}
				return nil
			}
			c.Delivery = func(_ context.Context, stream string, _ *eventstore.Recorded) error {
				if deliveries++; deliveries == 1 {
					if stream != streams.Name(streams.DeliveryShard, 2) {
						t.Errorf("the first record of deliveries is in %s", stream)
					}
					must(dropOldest(ctx, d))
				}
				return nil
			}
		})
		if len(faults) > 0 || result.Events != want || !result.Tips || deliveries == 0 {
			t.Errorf("%d events and %d deliveries, %+v: %v", want, deliveries, result, faults)
		}
		must(a.Close())
		must(s.Healthy())
	}, func(*nats.Conn) {})
}
