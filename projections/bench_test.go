package projections

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkApply measures the whole cost of an event for the read model, decoding and commit
// included, by batch size. Three events of four belong to a payment; the fourth is its session.
func BenchmarkApply(b *testing.B) {
	for _, size := range []int{1, 4, 16, 64, 512} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			l := newLogbook(8)
			for n := 0; len(l.all) < b.N; n++ {
				l.session(n)
				s := l.create(n)
				l.answer(l.timeOut(s), approved())
			}
			m := openTestModel(b, filepath.Join(b.TempDir(), FileName), 8)
			defer mustClose(b, m)
			b.ReportAllocs()
			b.ResetTimer()
			begin := time.Now()
			for i := 0; i < b.N; i += size {
				mustApply(b, m, l.all[i:min(i+size, b.N)])
			}
			b.ReportMetric(float64(b.N)/time.Since(begin).Seconds(), "events/s")
		})
	}
}

// BenchmarkPage measures a page of 100 payments, of 1,000, each read from the store.
func BenchmarkPage(b *testing.B) {
	store := openStore(b)
	n := startNode(b, store, b.TempDir())
	for i := range 1000 {
		createPayment(b, store, i)
	}
	b.ReportAllocs()
	for b.Loop() {
		if page, err := n.ListPayments(context.Background(), testAccount, PaymentFilter{}, nil, 100); err != nil || len(page.Data) != 100 {
			b.Fatal(len(page.Data), err)
		}
	}
}

// BenchmarkPayment measures a linearizable read of one payment.
func BenchmarkPayment(b *testing.B) {
	store := openStore(b)
	n := startNode(b, store, b.TempDir())
	s := createPayment(b, store, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := n.Payment(context.Background(), testAccount, s.ID); err != nil {
			b.Fatal(err)
		}
	}
}
