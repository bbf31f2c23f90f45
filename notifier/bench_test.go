package notifier

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/engine"
	"payledger/notifier/delivery"
	"payledger/notifier/signature"
)

// counter is a receiver that verifies each webhook and counts it.
type counter struct {
	url  string
	came atomic.Int64
	at   sync.Map // path and eventId → when it came first
	hang bool
}

func newCounter(b *testing.B, hang bool) *counter {
	c := &counter{hang: hang}
	server := httptest.NewServer(c)
	b.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *counter) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = signature.Verify(r.Header, body, time.Now(), secretText)
	}
	if err != nil {
		return
	}
	if c.hang {
		<-r.Context().Done()
		return
	}
	defer c.came.Add(1)
	c.at.LoadOrStore(r.URL.Path+" "+eventIDIn(body), time.Now())
}

// eventIDIn finds eventId without decoding the whole body.
func eventIDIn(body []byte) string {
	const name = `"eventId":"`
	for i := range body {
		if len(body) > i+len(name)+36 && string(body[i:i+len(name)]) == name {
			return string(body[i+len(name) : i+len(name)+36])
		}
	}
	return ""
}

// sustained appends payments, two events each, from as many goroutines as needed, and waits until
// all webhooks came and their outcomes are durable.
func sustained(b *testing.B, endpoints, payments int) float64 {
	inbox := newCounter(b, false)
	r := newBenchRig(b)
	r.start()
	defer r.stop()
	for i := range endpoints {
		r.endpoint(fmt.Sprintf("%s/%d", inbox.url, i))
	}
	start := time.Now()
	var writers sync.WaitGroup
	var next atomic.Int64
	for range 64 {
		writers.Go(func() {
			for next.Add(1) <= int64(payments) {
				r.pay(processor.Succeeded)
			}
		})
	}
	writers.Wait()
	r.drained(endpoints * payments)
	return float64(endpoints*payments) / time.Since(start).Seconds()
}

// drained waits until so many outcomes are durable.
func (r *rig) drained(n int) {
	stream := r.store.Deliveries()
	done := 0
	_ = stream.Follow(context.Background(), 1, func(page []deliverylog.Record) error {
		for _, stored := range page {
			if !stored.IsDelivery() {
				continue
			}
			d, err := delivery.Decode(stored)
			r.must(err)
			if d.Status == delivery.Succeeded {
				done++
			}
		}
		if done >= n {
			return io.EOF
		}
		return nil
	})
}

// BenchmarkSustained: deliveries a second with the log of attempts on, everything on this machine:
// events are decided and appended, projected, planned, rendered, signed, received, verified,
// recorded.
func BenchmarkSustained(b *testing.B) {
	for _, c := range []struct{ endpoints, payments int }{{1, 8000}, {10, 2000}} {
		b.Run(fmt.Sprintf("endpoints=%d", c.endpoints), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(sustained(b, c.endpoints, c.payments), "deliveries/s")
			}
		})
	}
}

// openLoop appends payments at a rate that does not depend on the webhooks. It returns the time
// from each event's append to the arrival of its webhook, and the number of webhooks a second.
func openLoop(b *testing.B, r *rig, inbox *counter, rate, seconds, endpoints int) (delays []time.Duration, perSecond float64) {
	var mu sync.Mutex
	appended := map[string]time.Time{}
	var paying sync.WaitGroup
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	start := time.Now()
	for range rate * seconds {
		<-tick.C
		paying.Go(func() {
			s := r.pay(processor.Succeeded)
			at := time.Now()
			e, err := r.store.Load(context.Background(), eventstore.Payments.Key(merchantID, string(s.ID)), eventstore.Applied)
			r.must(err)
			mu.Lock()
			defer mu.Unlock()
			appended[e.EventID] = at
		})
	}
	paying.Wait()
	want := int64(rate * seconds * endpoints)
	for deadline := time.Now().Add(patience); inbox.came.Load() < want && time.Now().Before(deadline); {
		<-time.After(time.Millisecond)
	}
	took := time.Since(start).Seconds()
	if n := inbox.came.Load(); n != want {
		b.Fatalf("%d webhooks of %d", n, want)
	}
	inbox.at.Range(func(key, at any) bool {
		_, event, _ := strings.Cut(key.(string), " ")
		delays = append(delays, max(0, at.(time.Time).Sub(appended[event])))
		return true
	})
	return delays, float64(want) / took
}

// BenchmarkLatency measures from the append of an event, when its writer has the result, until the
// webhook arrives, at 200 events a second that cause one (and as many that cause none).
func BenchmarkLatency(b *testing.B) {
	for b.Loop() {
		inbox := newCounter(b, false)
		r := newBenchRig(b)
		r.start()
		r.endpoint(inbox.url)
		delays, _ := openLoop(b, r, inbox, 200, 5, 1)
		r.stop()
		b.ReportMetric(ms(percentile(delays, 0.5)), "p50-ms")
		b.ReportMetric(ms(percentile(delays, 0.99)), "p99-ms")
	}
}

// BenchmarkHanging measures nine endpoints that answer, without and with a tenth endpoint that
// hangs. It runs five pairs, and reports the medians.
func BenchmarkHanging(b *testing.B) {
	const rate, seconds, endpoints, pairs = 60, 5, 9, 5 // some 540 deliveries a second
	for b.Loop() {
		var p99, perSecond [2][]float64
		for range pairs {
			for i, hanging := range []bool{false, true} {
				inbox, dead := newCounter(b, false), newCounter(b, true)
				r := newBenchRig(b)
				r.config.Timeout = time.Second
				r.start()
				for n := range endpoints {
					r.endpoint(fmt.Sprintf("%s/%d", inbox.url, n))
				}
				if hanging {
					r.endpoint(dead.url)
				}
				delays, n := openLoop(b, r, inbox, rate, seconds, endpoints)
				r.stop()
				p99[i], perSecond[i] = append(p99[i], ms(percentile(delays, 0.99))), append(perSecond[i], n)
			}
		}
		b.ReportMetric(median(p99[0]), "p99-ms-without")
		b.ReportMetric(median(p99[1]), "p99-ms-with")
		b.ReportMetric(median(perSecond[0]), "deliveries/s-without")
		b.ReportMetric(median(perSecond[1]), "deliveries/s-with")
		b.ReportMetric(median(p99[1])/median(p99[0]), "p99-ratio")
		b.ReportMetric(median(perSecond[1])/median(perSecond[0]), "rate-ratio")
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// percentile returns the p-th part of some durations. It sorts them.
func percentile(all []time.Duration, p float64) time.Duration {
	slices.Sort(all)
	return all[min(len(all)-1, int(float64(len(all))*p))]
}

func newBenchRig(b *testing.B) *rig {
	r := newRig(b)
	r.shards, r.eager = engine.DefaultShards, false
	return r
}
