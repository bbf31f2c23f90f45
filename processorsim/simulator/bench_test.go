package simulator_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/simulator"
)

// BenchmarkAuthorize sends authorizations over 64 connections. Every answer waits for an fsync;
// simultaneous ones share it.
func BenchmarkAuthorize(b *testing.B) {
	sim, err := simulator.New(simulator.Config{Dir: b.TempDir(), Secret: secret})
	must(b, err)
	server := httptest.NewServer(sim.Handler())
	c, err := adapter.New(server.URL, nil)
	must(b, err)
	defer func() { must(b, sim.Close()); c.Close(); server.Close() }()
	var next atomic.Int64
	var group sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range 64 {
		group.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				reference := fmt.Sprintf("01bench%d", n)
				_, err := c.Send(context.Background(), processor.Operation{
					Kind: processor.Authorize, Key: domain.OperationKey(reference + ".2"), Processor: processor.Adyen,
					MerchantID: "merchant-1", Reference: domain.PaymentID(reference), Amount: 1000, Currency: "EUR",
					Card: testCard("4242424242424242", "123"),
				})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "authorizations/s")
}
