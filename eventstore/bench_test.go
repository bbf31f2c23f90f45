package eventstore_test

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
	"payledger/eventstore/eventstoretest"
)

// benchWriters is how many requests append at the same moment.
const benchWriters = 64

// createPayment appends a new payment of usual size.
func createPayment(b *testing.B, s *eventstore.Store) *eventstore.Recorded {
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

// createPayments appends n payments from benchWriters goroutines; it gives their keys.
func createPayments(b *testing.B, s *eventstore.Store, n int) []eventstore.Key {
	keys := make([]eventstore.Key, n)
	var group sync.WaitGroup
	for w := range benchWriters {
		group.Go(func() {
			for i := w; i < n; i += benchWriters {
				if r := createPayment(b, s); r != nil {
					keys[i] = r.Key
				}
			}
		})
	}
	group.Wait()
	return keys
}

// BenchmarkLoad loads one payment for a command, by a log's size, after a restart: go test ./eventstore -run - -bench Load -benchtime 20000x
func BenchmarkLoad(b *testing.B) {
	for _, size := range []int{1_000, 200_000} {
		dir := b.TempDir()
		s, end := openBench(b, dir)
		keys := createPayments(b, s, size)
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

func openBench(b *testing.B, dir string) (*eventstore.Store, func()) {
	b.Helper()
	server, err := eventstore.StartServer(eventstore.ServerConfig{Dir: dir, Name: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	c := eventstoretest.Config(server)
	c.SoleWriter = true // as the service runs alone
	s, err := eventstore.Open(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	return s, func() {
		if err := errors.Join(s.Close(), server.Close()); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkLoad(b *testing.B, s *eventstore.Store, keys []eventstore.Key) {
	var took []time.Duration
	for b.Loop() {
		key := keys[mathrand.IntN(len(keys))]
		start := time.Now()
		tip, err := eventstore.LoadTip(context.Background(), s, eventstore.Payments, key)
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

// BenchmarkAppend compares, in one run, the ledger's appends with plain durable publishes of the same
// size: go test ./eventstore -run - -bench Append -benchtime 20000x
func BenchmarkAppend(b *testing.B) {
	for _, shards := range []int{1, 4, 8, 16} {
		b.Run(fmt.Sprintf("shards=%d", shards), func(b *testing.B) {
			c := eventstoretest.Config(eventstoretest.Server(b, b.TempDir()))
			c.Shards, c.SoleWriter = shards, true
			s := eventstoretest.OpenOn(b, c)
			size := messageSize(createPayment(b, s))
			raw, err := s.Yardstick(b.Context(), shards, benchWriters, b.N, size)
			if err != nil {
				b.Fatal(err)
			}
			start := time.Now()
			b.ResetTimer()
			createPayments(b, s, b.N)
			ledger := float64(b.N) / time.Since(start).Seconds()
			b.ReportMetric(raw, "raw/s")
			b.ReportMetric(ledger, "events/s")
			b.ReportMetric(ledger/raw, "ratio")
			b.ReportMetric(float64(size), "bytes")
		})
	}
}

// messageSize is the size of the event alone in a group, in bytes.
func messageSize(r *eventstore.Recorded) int {
	g := eventstore.Group{Frames: []*eventstore.Recorded{r.Fresh()}, Seq: 1, WitnessShard: eventstore.NoShard}
	return len(g.Encode())
}
