package engine_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/ceiling"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

// benchWriters is how many requests append at the same moment.
const benchWriters = 64

// createPayment appends a new payment of usual size.
func createPayment(b *testing.B, s *engine.Store) *eventstore.Recorded {
	var random [16]byte
	rand.Read(random[:])
	id, amount := domain.NewPaymentID(random), domain.Amount(1299)
	card := domain.NewCard("4111111111111111", "12", "2030", true)
	create := payment.Create{
		At: s.Now(), ID: id, Account: "acct", OrderID: "order-" + string(id[20:]), CustomerID: "customer-1", Currency: "EUR", Amount: &amount,
		Metadata: domain.Metadata{"channel": "web", "basket": int64(4711)},
		Method:   payment.Method{Token: "01token", Type: "PAYMENT_CARD", AuthorizationType: "FINAL", Card: card},
		Personal: &domain.Sealed{Key: "customer-key.acct.0123456789abcdef", Box: make([]byte, 200)},
		Route:    []payment.Target{{Processor: processor.Adyen, MerchantID: "merchant"}},
	}
	meta, err := s.NewMeta("key:bench", "bench")
	if err != nil {
		b.Error(err)
	}
	tip, err := eventstore.ExecuteNew(context.Background(), s, eventstore.Payments, eventstore.Payments.Key("acct", string(id)), meta,
		func(p payment.State) (payment.Event, error) { return payment.DecideCreate(p, create) })
	if err != nil {
		b.Error(err)
	}
	return tip.Recorded
}

// benchPayments are payments, and how long the append of each took.
type benchPayments struct {
	keys []eventstore.Key
	took []time.Duration
}

// createPayments appends n payments, as many at once as there are writers.
func createPayments(b *testing.B, s *engine.Store, n, writers int) benchPayments {
	made := benchPayments{make([]eventstore.Key, n), make([]time.Duration, n)}
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := w; i < n; i += writers {
				start := time.Now()
				if r := createPayment(b, s); r != nil {
					made.keys[i], made.took[i] = r.Key, time.Since(start)
				}
			}
		})
	}
	group.Wait()
	return made
}

// BenchmarkLoad loads one payment for a command, by a log's size, after a restart: go test
// ./eventstore/engine -run - -bench Load -benchtime 20000x
func BenchmarkLoad(b *testing.B) {
	for _, size := range []int{1_000, 200_000} {
		dir := b.TempDir()
		s, end := openBench(b, dir)
		keys := createPayments(b, s, size, benchWriters).keys
		end()
		start := time.Now()
		s, end = openBench(b, dir)
		restart := time.Since(start)
		b.Run(fmt.Sprintf("payments=%d", size), func(b *testing.B) {
			benchmarkLoad(b, s, keys)
			b.ReportMetric(restart.Seconds(), "restart-s")
		})
		end()
	}
}

func openBench(b *testing.B, dir string) (*engine.Store, func()) {
	b.Helper()
	server, err := embedded.Start(embedded.Config{Dir: dir, Name: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	c := eventstoretest.Config(server)
	s, err := engine.Open(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	return s, func() {
		if err := errors.Join(s.Close(), server.Close()); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkLoad(b *testing.B, s *engine.Store, keys []eventstore.Key) {
	var took []time.Duration
	for b.Loop() {
		key := keys[mathrand.IntN(len(keys))]
		start := time.Now()
		tip, err := eventstore.Load(context.Background(), s, eventstore.Payments, key, eventstore.Applied)
		took = append(took, time.Since(start))
		if err != nil || !tip.State.Exists() {
			b.Fatal(err)
		}
	}
	slices.Sort(took)
	b.ReportMetric(micros(took[len(took)/2]), "p50-µs")
	b.ReportMetric(micros(took[len(took)*99/100]), "p99-µs")
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// appendRounds is the number of rounds of BenchmarkAppend. A round publishes and then appends; a
// disk whose speed changes from minute to minute does not change the ratios.
const appendRounds = 10

// BenchmarkAppend compares, in one run, the ledger's appends with plain durable publishes of an
// event's size before compression, by as many writers at once, to one stream and to as many streams
// as the log has shards. Ratios are medians over the rounds. go test ./eventstore/engine -run -
// -bench Append -benchtime 20000x
func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("appenders=%d", writers), func(b *testing.B) {
			s, end := openBench(b, b.TempDir())
			defer end()
			size := len(createPayment(b, s).AppendFrame(nil))
			n := max(b.N/appendRounds, writers)
			publish := func(streams int) ceiling.Rate {
				return eventstoretest.MeasureYardstick(b, streams, writers, n, size)
			}
			figures := map[string][]float64{}
			note := func(name string, figure float64) { figures[name] = append(figures[name], figure) }
			for range appendRounds {
				raw := map[string]ceiling.Rate{"one": publish(1), "sharded": publish(s.Shards())}
				began := time.Now()
				took := createPayments(b, s, n, writers).took
				rate := float64(n) / time.Since(began).Seconds()
				slices.Sort(took)
				median := took[n/2]
				note("events/s", rate)
				note("p50-µs", micros(median))
				for name, y := range raw {
					note("raw-"+name+"/s", y.PerSecond)
					note("ratio-"+name, rate/y.PerSecond)
					note("p50-ratio-"+name, float64(median)/float64(y.Median))
				}
			}
			b.ReportMetric(float64(size), "bytes")
			for name, all := range figures {
				slices.Sort(all)
				b.ReportMetric(all[len(all)/2], name)
			}
		})
	}
}
