package notifier

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/eventstoretest"
	"payledger/notifier/delivery"
	"payledger/projections/deliveries"
)

var benchDeliveries = flag.Int("rebuilddeliveries", 5000, "number of deliveries in the stream of BenchmarkRebuildIndex")

// BenchmarkRebuildIndex compares the rate at which a rebuild applies the records of a stream, two
// of each delivery, with the rate at which the same process upserts the same records' rows, in the
// same batches, into an empty index. heapMB is the largest heap that was seen during the rebuild,
// with that of the server. go test ./notifier -run - -bench RebuildIndex -benchtime 1x
// -rebuilddeliveries 50000
func BenchmarkRebuildIndex(b *testing.B) {
	ctx := context.Background()
	c := eventstoretest.Config(eventstoretest.Server(b, b.TempDir()))
	stream := eventstoretest.OpenOn(b, c).Deliveries()
	putDeliveries(b, stream, *benchDeliveries)
	end, err := stream.End(ctx)
	if err != nil {
		b.Fatal(err)
	}
	var batches [][]deliveries.Row
	var marks []deliveries.Mark
	err = stream.Follow(ctx, 1, func(page []deliverylog.Record) error {
		rows, mark, err := rowsOf(page)
		if batches, marks = append(batches, rows), append(marks, mark); err == nil && mark.Seq >= end {
			err = errBenchEnd
		}
		return err
	})
	if !errors.Is(err, errBenchEnd) {
		b.Fatal(err)
	}
	records := 0
	for _, rows := range batches {
		records += len(rows)
	}
	index := func() *deliveries.Index {
		x, err := deliveries.Open(ctx, filepath.Join(b.TempDir(), "index"), zerolog.Nop())
		if err != nil {
			b.Fatal(err)
		}
		return x
	}
	var rebuilding, upserting time.Duration
	heap := uint64(0)
	for b.Loop() {
		x := index()
		begin := time.Now()
		heap = max(heap, eventstoretest.LargestHeap(func() {
			if err := RebuildIndex(ctx, x, stream, nil); err != nil {
				b.Fatal(err)
			}
		}))
		rebuilding += time.Since(begin)
		plain := index()
		begin = time.Now()
		for i := range batches {
			if err := plain.Apply(ctx, batches[i], marks[i]); err != nil {
				b.Fatal(err)
			}
		}
		upserting += time.Since(begin)
		for _, x := range []*deliveries.Index{x, plain} {
			if err := x.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(records), "records")
	b.ReportMetric(float64(b.N*records)/rebuilding.Seconds(), "records/s")
	b.ReportMetric(float64(b.N*records)/upserting.Seconds(), "upserts/s")
	b.ReportMetric(upserting.Seconds()/rebuilding.Seconds(), "ratio")
	b.ReportMetric(float64(heap)/1e6, "heapMB")
}

// errBenchEnd ends the reading of the stream.
var errBenchEnd = errors.New("the stream has no more records")

// putDeliveries puts n planned deliveries, and then their successful attempts.
func putDeliveries(b *testing.B, stream *deliverylog.Stream, n int) {
	b.Helper()
	ctx := context.Background()
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	var writers sync.WaitGroup
	for chunk := range slices.Chunk(numbers, n/256+1) {
		writers.Go(func() {
			for _, i := range chunk {
				if err := putDelivery(ctx, stream, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
}

func putDelivery(ctx context.Context, stream *deliverylog.Stream, n int) error {
	at := time.Date(2026, 3, 14, 9, 0, 0, n*1000, time.UTC)
	r := &eventstore.Recorded{
		Key: eventstore.Payments.Key("bench", fmt.Sprint("payment", n/4)), EventID: fmt.Sprint("event", n), Seq: uint64(n + 1), Revision: 1,
	}
	d := delivery.Plan(r, domain.EndpointID(fmt.Sprint("endpoint", n%3)), webhook.PaymentStatus, "bench", at)
	place := uint64(0)
	for range 2 {
		body, err := d.Encode()
		if err != nil {
			return err
		}
		if place, err = stream.Put(ctx, d.Name(), place, body, d.Status.Open()); err != nil {
			return err
		}
		d = d.WithAttempt(delivery.Attempt{Number: 1, StartedAt: at, Duration: 1234, StatusCode: 200}, delivery.NewSchedule(nil))
	}
	return nil
}
