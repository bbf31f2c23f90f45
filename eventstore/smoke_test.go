package eventstore_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
)

func newPayment(tb testing.TB, st *eventstore.Store) (eventstore.Key, payment.Create) {
	var b [16]byte
	rand.Read(b[:])
	id := domain.NewPaymentID(b)
	amt := domain.Amount(1200)
	return eventstore.Payments.Key("acct1", string(id)), payment.Create{At: st.Now(), ID: id, Account: "acct1", OrderID: "o-1", Currency: "EUR", Amount: &amt,
		Metadata: domain.Metadata{"b": int64(1), "a": "x"},
		Route:    []payment.Target{{Processor: processor.Adyen, MerchantID: "m"}}}
}

func TestSmoke(t *testing.T) {
	st := eventstoretest.Open(t, t.TempDir())
	ctx := context.Background()
	key, cmd := newPayment(t, st)
	meta, _ := st.NewMeta("test", "req")
	tip, err := eventstore.ExecuteNew(ctx, st, eventstore.Payments, key, meta, func(s payment.State) (payment.Event, error) { return payment.DecideCreate(s, cmd) })
	if err != nil {
		t.Fatal(err)
	}
	got, err := eventstore.LoadTip(ctx, st, eventstore.Payments, key)
	if err != nil || fmt.Sprintf("%+v", got.State) != fmt.Sprintf("%+v", tip.State) {
		t.Fatalf("%v\n%+v\n%+v", err, got.State, tip.State)
	}
	meta, _ = st.NewMeta("test", "req")
	tip, err = eventstore.Execute(ctx, st, eventstore.Payments, key, meta, func(s payment.State) (payment.Event, error) {
		return payment.DecideAuthorization(s, payment.RecordAuthorization{At: st.Now(), EventID: meta.EventID, Request: 1, Answer: processor.Answer{State: processor.Succeeded, ProcessorTransactionID: "x"}})
	})
	if err != nil || tip.State.Status() != payment.StatusAuthorized {
		t.Fatal(err, tip.State.Status())
	}
	h, err := st.History(ctx, key)
	if err != nil || len(h) != 2 {
		t.Fatal(err, h)
	}
	t.Log(len(h[1].Body))
}

func BenchmarkRaw(b *testing.B) {
	for _, mode := range []string{"pipe", "tcp"} {
		for _, shards := range []int{1, 4, 8} {
			b.Run(fmt.Sprintf("%s/%d", mode, shards), func(b *testing.B) {
				cfg := eventstore.ServerConfig{Dir: b.TempDir(), Name: "x"}
				srv, err := eventstore.StartServer(cfg)
				if err != nil {
					b.Fatal(err)
				}
				defer srv.Close()
				c := eventstoretest.Config(srv)
				c.Shards = shards
				st := eventstoretest.OpenOn(b, c)
				ctx := context.Background()
				var wg sync.WaitGroup
				jobs := make(chan struct{}, 64)
				b.ResetTimer()
				start := time.Now()
				for range 64 {
					wg.Go(func() {
						for range jobs {
							key, cmd := newPayment(b, st)
							meta, _ := st.NewMeta("test", "req")
							if _, err := eventstore.ExecuteNew(ctx, st, eventstore.Payments, key, meta, func(s payment.State) (payment.Event, error) { return payment.DecideCreate(s, cmd) }); err != nil {
								b.Error(err)
							}
						}
					})
				}
				for range b.N {
					jobs <- struct{}{}
				}
				close(jobs)
				wg.Wait()
				b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "ev/s")
			})
		}
	}
}
