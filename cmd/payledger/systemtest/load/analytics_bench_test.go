//go:build system

package load

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/feed"
)

// The load of BenchmarkAnalysts.
const (
	analystAttempts = 1000        // programs that want a connection
	analystPause    = time.Second // before a refused program tries again
	slowConsumers   = 10
	analystRounds   = 6 // each has a part without and a part with the load
)

// The payments of BenchmarkAnalysts and BenchmarkEventStream come at a steady rate, which the
// service can take: their times are no waiting times of a full queue.
const (
	steadyInterval = 40 * time.Millisecond
	steadyPayers   = 16
)

// BenchmarkAnalysts makes payments with and without analysts at the NATS server for them, in turn:
// 1,000 programs that try to connect, of which most are refused, and 10 consumers that read the
// whole stream slowly. The service is a process of its own. It reports the time of a create and the
// processor time of the service in both parts, the ratios of the times of a create, and the time
// from an event to its message at an analyst. go test -tags system ./cmd/payledger/systemtest/load
// -run - -bench Analysts -benchtime 600x
func BenchmarkAnalysts(b *testing.B) {
	dir := b.TempDir()
	p := apptest.ServeProcess(b, "--data", dir, "--nats-listen", "127.0.0.1:0", "--log-level", "error")
	m := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey)
	status, text, fault := apptest.Invoke(b, "analytics-user", "bench", "--data", dir)
	credentials := filepath.Join(b.TempDir(), "bench.creds")
	if err := os.WriteFile(credentials, []byte(text), 0o600); err != nil || status != 0 {
		b.Fatal(status, fault, err)
	}
	a := newAnalysts(b, p.Ready.NATS, nats.UserCredentialBytes([]byte(text)))
	tokens := prepareTokens(b, m, max(b.N, analystRounds*2))
	lags := watchPayments(b, feed.NATS(p.Ready.NATS, credentials), len(tokens))
	var quiet, loaded []time.Duration
	var quietCPU, loadedCPU time.Duration // of the service
	b.ResetTimer()
	for n, part := range slices.Collect(slices.Chunk(tokens, (len(tokens)+2*analystRounds-1)/(2*analystRounds))) {
		if n%2 == 0 {
			spent := p.CPU()
			quiet = append(quiet, paySteadily(b, m, part)...)
			quietCPU += p.CPU() - spent
			continue
		}
		b.StopTimer()
		end := a.load()
		b.StartTimer()
		spent := p.CPU()
		loaded = append(loaded, paySteadily(b, m, part)...)
		loadedCPU += p.CPU() - spent
		b.StopTimer()
		end()
		b.StartTimer()
	}
	b.StopTimer()
	slices.Sort(quiet)
	slices.Sort(loaded)
	b.ReportMetric(of(quiet, 0.5), "p50-ms")
	b.ReportMetric(of(quiet, 0.99), "p99-ms")
	b.ReportMetric(of(loaded, 0.5), "p50-ms-loaded")
	b.ReportMetric(of(loaded, 0.99), "p99-ms-loaded")
	b.ReportMetric(of(loaded, 0.5)/of(quiet, 0.5), "p50-ratio")
	b.ReportMetric(of(loaded, 0.99)/of(quiet, 0.99), "p99-ratio")
	b.ReportMetric(quietCPU.Seconds()*1000/float64(len(quiet)), "cpu-ms/payment")
	b.ReportMetric(loadedCPU.Seconds()*1000/float64(len(loaded)), "cpu-ms/payment-loaded")
	b.ReportMetric(float64(a.refused.Load())/a.lasted.Seconds(), "refused/s")
	b.ReportMetric(float64(a.held)/analystRounds, "held")
	for _, conn := range a.slow {
		if conn.IsClosed() {
			b.Error("a slow consumer lost its connection: ", conn.LastError())
		}
	}
	reportLags(b, lags(), "EVENTS")
	p.Stop()
}

// BenchmarkEventStream makes payments at a steady rate, and reports the time from an event to its
// message at a reader of GET /events/stream. go test -tags system ./cmd/payledger/systemtest/load
// -run - -bench EventStream -benchtime 600x
func BenchmarkEventStream(b *testing.B) {
	p := apptest.ServeProcess(b, "--data", b.TempDir(), "--log-level", "error")
	m := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey)
	tokens := prepareTokens(b, m, b.N)
	lags := watchPayments(b, feed.HTTP(p.Ready.API, p.Credentials.APIKey), len(tokens))
	b.ResetTimer()
	took := paySteadily(b, m, tokens)
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(of(took, 0.5), "p50-ms")
	b.ReportMetric(of(took, 0.99), "p99-ms")
	reportLags(b, lags(), "stream")
	p.Stop()
}

// paySteadily makes one payment with each token, at a steady rate, and returns the time of each
// from the moment at which it was due.
func paySteadily(b *testing.B, m *apptest.Merchant, tokens []string) []time.Duration {
	b.Helper()
	durations := make([]time.Duration, len(tokens))
	begin := time.Now()
	var next atomic.Int64
	var running sync.WaitGroup
	for range min(steadyPayers, len(tokens)) {
		running.Go(func() {
			w, err := apptest.DialWire(m.API, m.Key)
			if err != nil {
				b.Error(err)
				return
			}
			defer w.Conn.Close()
			for i := next.Add(1) - 1; i < int64(len(tokens)); i = next.Add(1) - 1 {
				due := begin.Add(time.Duration(i) * steadyInterval)
				<-time.After(time.Until(due))
				if status, err := w.Pay(tokens[i], "bench-"+tokens[i]); err != nil || status != 200 {
					b.Errorf("create answered %d %v", status, err)
					return
				}
				durations[i] = time.Since(due)
			}
		})
	}
	running.Wait()
	return durations
}

// watchPayments reads a feed from its begin until n payments were authorized. The returned function
// waits for them, and returns the times from these events to their arrival.
func watchPayments(b *testing.B, f *feed.Feed, n int) func() []time.Duration {
	lags, ended := make([]time.Duration, 0, n), make(chan struct{})
	go func() {
		defer close(ended)
		for e, err := range f.Follow(b.Context(), 0) {
			if err != nil {
				b.Error(err)
				return
			}
			if e.Type != "payment.authorized" {
				continue
			}
			if lags = append(lags, time.Since(e.Time)); len(lags) == n {
				return
			}
		}
	}()
	return func() []time.Duration { <-ended; return lags }
}

func reportLags(b *testing.B, lags []time.Duration, to string) {
	slices.Sort(lags)
	b.ReportMetric(of(lags, 0.5), "p50-ms-to-"+to)
	b.ReportMetric(of(lags, 0.99), "p99-ms-to-"+to)
}

// analysts are programs at the NATS server.
type analysts struct {
	url       string
	options   []nats.Option
	slow      []*nats.Conn
	consumers []jetstream.Consumer
	refused   atomic.Int64  // attempts to connect
	open      atomic.Int64  // connections of the programs
	held      int64         // sum of open at the ends of the parts
	lasted    time.Duration // of the load in all
}

// newAnalysts connects the slow consumers, which do not read yet.
func newAnalysts(b *testing.B, url string, credentials nats.Option) *analysts {
	b.Helper()
	a := &analysts{url: url, options: []nats.Option{credentials, nats.NoReconnect(), nats.Timeout(10 * time.Second)}}
	b.Cleanup(a.close)
	for n := range slowConsumers {
		conn, err := nats.Connect(url, a.options...)
		if err != nil {
			b.Fatal(err)
		}
		a.slow = append(a.slow, conn)
		js, err := jetstream.New(conn)
		if err != nil {
			b.Fatal(err)
		}
		var consumer jetstream.Consumer
		apptest.Eventually(b, func() bool { // the feed makes the stream after the start
			consumer, err = js.CreateOrUpdateConsumer(b.Context(), "EVENTS", jetstream.ConsumerConfig{Durable: fmt.Sprint("slow-", n), AckPolicy: jetstream.AckExplicitPolicy})
			return err == nil
		})
		a.consumers = append(a.consumers, consumer)
	}
	return a
}

func (a *analysts) close() {
	for _, conn := range a.slow {
		conn.Close()
	}
}

// load lets the consumers read and the programs connect until end is called. It returns when each
// program has tried once.
func (a *analysts) load() (end func()) {
	begin, done := time.Now(), make(chan struct{})
	var running, tried sync.WaitGroup
	for _, consumer := range a.consumers {
		running.Go(func() { readSlowly(consumer, done) })
	}
	tried.Add(analystAttempts)
	for n := range analystAttempts {
		running.Go(func() {
			first := sync.OnceFunc(tried.Done)
			for pause := analystPause * time.Duration(n) / analystAttempts; ; pause = analystPause {
				select {
				case <-done:
					return
				case <-time.After(pause):
				}
				closed := make(chan struct{})
				conn, err := nats.Connect(a.url, append(a.options[:len(a.options):len(a.options)], nats.ClosedHandler(func(*nats.Conn) { close(closed) }))...)
				first()
				if err != nil {
					a.refused.Add(1)
					continue
				}
				a.open.Add(1)
				select {
				case <-closed:
					a.refused.Add(1)
				case <-done:
					conn.Close()
				}
				a.open.Add(-1)
			}
		})
	}
	tried.Wait()
	return func() {
		a.held += a.open.Load()
		close(done)
		running.Wait()
		a.lasted += time.Since(begin)
	}
}

// readSlowly reads 20 messages at a time until done is closed.
func readSlowly(consumer jetstream.Consumer, done <-chan struct{}) {
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for {
		if batch, err := consumer.Fetch(20, jetstream.FetchMaxWait(time.Second)); err == nil {
			for message := range batch.Messages() {
				_ = message.Ack()
			}
		}
		<-pause.C
		select {
		case <-done:
			return
		default:
		}
	}
}
