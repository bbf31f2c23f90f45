//go:build system

package load

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
)

// BenchmarkFlood creates payments over 64 connections, then over -flood-connections. Meanwhile it
// requests /readyz again and again. The service may use 768 MiB.
func BenchmarkFlood(b *testing.B) {
	o := apptest.TestOptions(cmp.Or(*grownData, b.TempDir()))
	key := ""
	if *grown = *apptest.FloodPayments; *grown > 0 {
		key, _ = filled(b, o)
	}
	p := apptest.ServeProcessWithin(b, time.Hour, "--data", o.Data, "--memory", "768000000", "--log-level", "error")
	m := apptest.NewMerchant(p.Ready.API, key)
	if key == "" {
		m.Key = p.Credentials.APIKey
	}
	b.Logf("ready with %d payments, RSS %.1f MiB", *apptest.FloodPayments, p.Memory("VmRSS:"))
	body := vaulted(b, m)
	pay := func(w *apptest.Wire) (int, error) { return w.Post("/payments", "", body) }
	phase := func(n int) *crowd {
		ctx, cancel := context.WithTimeout(b.Context(), *apptest.FloodTime)
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
		go ask(ready, p.Ready.API+"/readyz")
		go ask(admin, p.Ready.Admin+"/readyz")
		c := flood(ctx, n, m.Key, m.API, *apptest.FloodPause, pay)
		b.Logf("%d connections: %s; %.0f/s taken, peak RSS %.1f MiB", n, c, float64(len(c.taken))/apptest.FloodTime.Seconds(), p.Memory("VmHWM:"))
		for _, where := range []chan asked{ready, admin} {
			got := <-where
			b.Logf("readyz: %d asked, %d failed %v, p50 %.1f ms, p99 %.1f ms, most %.1f ms", len(got.took), len(got.failed), first(got.failed), of(got.took, 0.5), of(got.took, 0.99), of(got.took, 1))
		}
		return c
	}
	for range b.N {
		few, many := phase(64), phase(*apptest.FloodConnections)
		b.ReportMetric(of(few.taken, 0.99), "p99-64-ms")
		b.ReportMetric(of(many.taken, 0.99), "p99-ms")
		b.ReportMetric(of(many.taken, 0.99)/of(few.taken, 0.99), "ratio")
	}
	p.Stop()
}

func first(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return errs[0]
}

// BenchmarkOnePayment: partial captures of one payment by one caller, and by 100 at once.
func BenchmarkOnePayment(b *testing.B) {
	p := apptest.ServeProcess(b, "--data", b.TempDir(), "--memory", "768000000", "--log-level", "error")
	m := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey)
	rate := func(n int) float64 {
		a, err := m.Pay(m.Token(b, fmt.Sprint("order-", n), 1_000_000_000, "4111111111111111"), "")
		if err != nil || a.Status != http.StatusOK {
			b.Fatal(string(a.Body), err)
		}
		var made apptest.PaymentAnswer
		a.Decode(b, &made)
		ctx, cancel := context.WithTimeout(b.Context(), *apptest.FloodTime)
		defer cancel()
		c := flood(ctx, n, m.Key, m.API, 0, func(w *apptest.Wire) (int, error) {
			return w.Post("/payments/"+made.ID+"/capture", "", `{"amount":1,"final":false}`)
		})
		b.Logf("%d callers: %s; %.0f/s", n, c, float64(len(c.taken))/apptest.FloodTime.Seconds())
		return float64(len(c.taken)) / apptest.FloodTime.Seconds()
	}
	for range b.N {
		one, hundred := rate(1), rate(100)
		b.ReportMetric(one, "one/s")
		b.ReportMetric(hundred, "hundred/s")
		b.ReportMetric(hundred/one, "ratio")
	}
	p.Stop()
}

// BenchmarkNeverReading measures payments beside connections without a key that send requests and
// never read.
func BenchmarkNeverReading(b *testing.B) {
	p := apptest.ServeProcess(b, "--data", b.TempDir(), "--memory", "768000000", "--log-level", "error")
	m := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey)
	body := vaulted(b, m)
	address := strings.TrimPrefix(m.API, "http://")
	for range b.N {
		held, err := hold(address, *apptest.FloodConnections, strings.Repeat("GET /openapi.yaml HTTP/1.1\r\nHost: a\r\n\r\n", 200), 4096)
		b.Logf("%d connections never read (%v)", len(held), err)
		ctx, cancel := context.WithTimeout(b.Context(), *apptest.FloodTime)
		answered := atomic.Int64{}
		c := flood(ctx, 16, m.Key, m.API, 0, func(w *apptest.Wire) (int, error) {
			defer answered.Add(1)
			return w.Post("/payments", "", body)
		})
		cancel()
		b.Logf("others: %s; RSS %.1f MiB, peak %.1f MiB", c, p.Memory("VmRSS:"), p.Memory("VmHWM:"))
		took, failed := apptest.Probes(onlyFor(b, time.Second), m.API+"/readyz", 50*time.Millisecond)
		b.Logf("readyz: %d asked, failed %v, most %.1f ms", len(took), first(failed), of(took, 1))
		for _, conn := range held {
			conn.Close()
		}
	}
	p.Stop()
}

func onlyFor(b *testing.B, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(b.Context(), d)
	b.Cleanup(cancel)
	return ctx
}

// BenchmarkSlowReaders measures payments beside 1,500 connections that request a list of some 500
// kB and read nothing, or a few bytes a second.
func BenchmarkSlowReaders(b *testing.B) {
	p := apptest.ServeProcess(b, "--data", b.TempDir(), "--memory", "768000000", "--log-level", "error")
	m := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey)
	metadata := `"metadata":{"note":"` + strings.Repeat("x", 4000) + `"}`
	body := strings.TrimSuffix(vaulted(b, m), "}") + "," + metadata + "}"
	for range 100 {
		m.Must(b, "POST", "/payments", m.Headers(), body)
	}
	list := m.Must(b, "GET", "/payments?limit=100", m.Headers(), nil)
	b.Logf("the list has %d bytes; RSS %.1f MiB", len(list.Body), p.Memory("VmRSS:"))
	address := strings.TrimPrefix(m.API, "http://")
	request := "GET /payments?limit=100 HTTP/1.1\r\nHost: a\r\nX-API-KEY: " + m.Key + "\r\nX-API-VERSION: 2.4\r\n\r\n"
	for range b.N {
		held, err := hold(address, 1500, request, 4096)
		b.Logf("%d connections read slowly (%v)", len(held), err)
		ctx := onlyFor(b, *apptest.FloodTime)
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
		c := flood(onlyFor(b, 2*time.Second), 4, m.Key, m.API, 0, func(w *apptest.Wire) (int, error) { return w.Post("/payments", "", small) })
		b.Logf("others: %s; RSS %.1f MiB, peak %.1f MiB", c, p.Memory("VmRSS:"), p.Memory("VmHWM:"))
		b.ReportMetric(p.Memory("VmHWM:"), "peak-MiB")
		for _, conn := range held {
			conn.Close()
		}
	}
	p.Stop()
}
