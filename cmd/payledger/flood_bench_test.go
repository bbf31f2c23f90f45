package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var (
	floodConnections = flag.Int("flood-connections", 2000, "how many connections BenchmarkFlood creates payments over")
	floodTime        = flag.Duration("flood-time", 10*time.Second, "how long each part of BenchmarkFlood takes")
	floodPayments    = flag.Int("flood-payments", 0, "how many payments the log has before BenchmarkFlood")
	floodFiles       = flag.Int("flood-files", 0, "how many files the service may have open; 0: as the test")
	floodPause       = flag.Duration("flood-pause", 0, "how long a caller waits that was answered 503")
)

// BenchmarkFlood creates payments over 64 connections, then over -flood-connections. Meanwhile it requests /readyz again and
// again. The service may use 768 MiB.
func BenchmarkFlood(b *testing.B) {
	o := testOptions(cmp.Or(*grownData, b.TempDir()))
	key := ""
	if *grown = *floodPayments; *grown > 0 {
		key, _ = filled(b, o)
	}
	p := serveProcessWithin(b, time.Hour, "--data", o.Data, "--memory", "768000000", "--log-level", "error")
	m := newMerchant(p.ready.API, key)
	if key == "" {
		m.key = p.credentials.APIKey
	}
	b.Logf("ready with %d payments, RSS %.1f MiB", *floodPayments, p.memory("VmRSS:"))
	body := vaulted(b, m)
	pay := func(w *wire) (int, error) { return w.post("/payments", "", body) }
	phase := func(n int) *crowd {
		ctx, cancel := context.WithTimeout(b.Context(), *floodTime)
		defer cancel()
		type asked struct {
			took   []time.Duration
			failed []error
		}
		ready, admin := make(chan asked, 1), make(chan asked, 1)
		ask := func(out chan asked, url string) {
			took, failed := probesBeside(ctx, b, url)
			out <- asked{took, failed}
		}
		go ask(ready, p.ready.API+"/readyz")
		go ask(admin, p.ready.Admin+"/readyz")
		c := flood(ctx, n, m.key, m.api, *floodPause, pay)
		b.Logf("%d connections: %s; %.0f/s taken, peak RSS %.1f MiB", n, c, float64(len(c.taken))/floodTime.Seconds(), p.memory("VmHWM:"))
		for _, where := range []chan asked{ready, admin} {
			got := <-where
			b.Logf("readyz: %d asked, %d failed %v, p50 %.1f ms, p99 %.1f ms, most %.1f ms", len(got.took), len(got.failed), first(got.failed), of(got.took, 0.5), of(got.took, 0.99), of(got.took, 1))
		}
		return c
	}
	for range b.N {
		few, many := phase(64), phase(*floodConnections)
		b.ReportMetric(of(few.taken, 0.99), "p99-64-ms")
		b.ReportMetric(of(many.taken, 0.99), "p99-ms")
		b.ReportMetric(of(many.taken, 0.99)/of(few.taken, 0.99), "ratio")
	}
	p.stop()
}

func first(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return errs[0]
}

// BenchmarkOnePayment: partial captures of one payment by one caller, and by 100 at once.
func BenchmarkOnePayment(b *testing.B) {
	p := serveProcess(b, "--data", b.TempDir(), "--memory", "768000000", "--log-level", "error")
	m := newMerchant(p.ready.API, p.credentials.APIKey)
	rate := func(n int) float64 {
		a, err := m.pay(m.token(b, fmt.Sprint("order-", n), 1_000_000_000, "4111111111111111"), "")
		if err != nil || a.status != http.StatusOK {
			b.Fatal(string(a.body), err)
		}
		var made paymentAnswer
		a.decode(b, &made)
		ctx, cancel := context.WithTimeout(b.Context(), *floodTime)
		defer cancel()
		c := flood(ctx, n, m.key, m.api, 0, func(w *wire) (int, error) {
			return w.post("/payments/"+made.ID+"/capture", "", `{"amount":1,"final":false}`)
		})
		b.Logf("%d callers: %s; %.0f/s", n, c, float64(len(c.taken))/floodTime.Seconds())
		return float64(len(c.taken)) / floodTime.Seconds()
	}
	for range b.N {
		one, hundred := rate(1), rate(100)
		b.ReportMetric(one, "one/s")
		b.ReportMetric(hundred, "hundred/s")
		b.ReportMetric(hundred/one, "ratio")
	}
	p.stop()
}

// BenchmarkNeverReading measures payments beside connections without a key that send requests and never read.
func BenchmarkNeverReading(b *testing.B) {
	p := serveProcess(b, "--data", b.TempDir(), "--memory", "768000000", "--log-level", "error")
	m := newMerchant(p.ready.API, p.credentials.APIKey)
	body := vaulted(b, m)
	address := strings.TrimPrefix(m.api, "http://")
	for range b.N {
		held, err := hold(address, *floodConnections, strings.Repeat("GET /openapi.yaml HTTP/1.1\r\nHost: a\r\n\r\n", 200), 4096)
		b.Logf("%d connections never read (%v)", len(held), err)
		ctx, cancel := context.WithTimeout(b.Context(), *floodTime)
		answered := atomic.Int64{}
		c := flood(ctx, 16, m.key, m.api, 0, func(w *wire) (int, error) {
			defer answered.Add(1)
			return w.post("/payments", "", body)
		})
		cancel()
		b.Logf("others: %s; RSS %.1f MiB, peak %.1f MiB", c, p.memory("VmRSS:"), p.memory("VmHWM:"))
		took, failed := probes(onlyFor(b, time.Second), m.api+"/readyz", 50*time.Millisecond)
		b.Logf("readyz: %d asked, failed %v, most %.1f ms", len(took), first(failed), of(took, 1))
		for _, conn := range held {
			conn.Close()
		}
	}
	p.stop()
}

func onlyFor(b *testing.B, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(b.Context(), d)
	b.Cleanup(cancel)
	return ctx
}

// BenchmarkSlowReaders measures payments beside 1,500 connections that request a list of some 500 kB and read nothing, or a few bytes a
// second.
func BenchmarkSlowReaders(b *testing.B) {
	p := serveProcess(b, "--data", b.TempDir(), "--memory", "768000000", "--log-level", "error")
	m := newMerchant(p.ready.API, p.credentials.APIKey)
	metadata := `"metadata":{"note":"` + strings.Repeat("x", 4000) + `"}`
	body := strings.TrimSuffix(vaulted(b, m), "}") + "," + metadata + "}"
	for range 100 {
		m.must(b, "POST", "/payments", m.headers(), body)
	}
	list := m.must(b, "GET", "/payments?limit=100", m.headers(), nil)
	b.Logf("the list has %d bytes; RSS %.1f MiB", len(list.body), p.memory("VmRSS:"))
	address := strings.TrimPrefix(m.api, "http://")
	request := "GET /payments?limit=100 HTTP/1.1\r\nHost: a\r\nX-API-KEY: " + m.key + "\r\nX-API-VERSION: 2.4\r\n\r\n"
	for range b.N {
		held, err := hold(address, 1500, request, 4096)
		b.Logf("%d connections read slowly (%v)", len(held), err)
		ctx := onlyFor(b, *floodTime)
		for tick := time.NewTicker(500 * time.Millisecond); ctx.Err() == nil; {
			select {
			case <-tick.C:
				for _, conn := range held {
					conn.SetReadDeadline(time.Now().Add(time.Microsecond))
					conn.Read(make([]byte, 512)) // any bytes
				}
			case <-ctx.Done():
				tick.Stop()
			}
		}
		small := vaulted(b, m)
		c := flood(onlyFor(b, 2*time.Second), 4, m.key, m.api, 0, func(w *wire) (int, error) { return w.post("/payments", "", small) })
		b.Logf("others: %s; RSS %.1f MiB, peak %.1f MiB", c, p.memory("VmRSS:"), p.memory("VmHWM:"))
		b.ReportMetric(p.memory("VmHWM:"), "peak-MiB")
		for _, conn := range held {
			conn.Close()
		}
	}
	p.stop()
}
