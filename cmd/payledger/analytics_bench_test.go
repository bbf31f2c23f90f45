package main

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The load of BenchmarkAnalysts.
const (
	analystConnections = 1000 // attempts to connect, repeated as long as the server refuses them
	slowConsumers      = 10
	analystRounds      = 6 // each has a part without and a part with the load
)

// BenchmarkAnalysts makes payments with and without analysts at the NATS server for them, in turn: 1,000 connections and 10 consumers
// that read the whole stream slowly. It reports the p99 of a create in both parts and their ratio, and the time from an event to its
// message at an analyst.
func BenchmarkAnalysts(b *testing.B) {
	o := testOptions(b.TempDir())
	o.NatsListen = "127.0.0.1:0"
	app := startApp(b, o)
	m := newMerchant(app.ready().API, app.credentials.APIKey)
	credentials, err := app.createAnalyticsUser(b.Context(), analyticsUser{Name: "bench"}, nil)
	if err != nil {
		b.Fatal(err)
	}
	option := nats.UserCredentialBytes([]byte(credentials.(analyticsCredentials).Credentials))
	tokens := prepareTokens(b, m, max(b.N, analystRounds*2))
	var quiet, loaded []time.Duration
	b.ResetTimer()
	for n, part := range slices.Collect(slices.Chunk(tokens, (len(tokens)+2*analystRounds-1)/(2*analystRounds))) {
		if n%2 == 0 {
			quiet = append(quiet, payAll(b, m, part)...)
			continue
		}
		b.StopTimer()
		end := load(b, app.ready().NATS, option)
		b.StartTimer()
		loaded = append(loaded, payAll(b, m, part)...)
		b.StopTimer()
		end()
		b.StartTimer()
	}
	b.StopTimer()
	p99 := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)*99/100].Microseconds()) / 1000
	}
	b.ReportMetric(p99(quiet), "p99-ms")
	b.ReportMetric(p99(loaded), "p99-ms-loaded")
	b.ReportMetric(p99(loaded)/p99(quiet), "ratio")
	lags := app.lags(b, m, option)
	slices.Sort(lags)
	b.ReportMetric(float64(lags[len(lags)/2].Microseconds())/1000, "p50-ms-to-EVENTS")
	b.ReportMetric(float64(lags[len(lags)*99/100].Microseconds())/1000, "p99-ms-to-EVENTS")
}

// load opens connections and slow consumers until end is called.
func load(b *testing.B, url string, option nats.Option) (end func()) {
	b.Helper()
	var connections []*nats.Conn
	done := make(chan struct{})
	var running sync.WaitGroup
	for n := range slowConsumers {
		conn, err := nats.Connect(url, option)
		if err != nil {
			b.Fatal(err)
		}
		connections = append(connections, conn)
		js, err := jetstream.New(conn)
		if err != nil {
			b.Fatal(err)
		}
		consumer, err := js.CreateOrUpdateConsumer(b.Context(), "EVENTS", jetstream.ConsumerConfig{Durable: fmt.Sprint("slow-", n), AckPolicy: jetstream.AckExplicitPolicy})
		if err != nil {
			b.Fatal(err)
		}
		running.Go(func() {
			for pause := time.NewTicker(20 * time.Millisecond); ; {
				batch, err := consumer.Fetch(20, jetstream.FetchMaxWait(time.Second))
				if err == nil {
					for message := range batch.Messages() {
						_ = message.Ack()
					}
				}
				select {
				case <-done:
					pause.Stop()
					return
				case <-pause.C:
				}
			}
		})
	}
	for len(connections) < analystConnections {
		conn, err := nats.Connect(url, option, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(time.Second), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if err != nil {
			b.Fatal(err)
		}
		connections = append(connections, conn)
	}
	return func() {
		close(done)
		running.Wait()
		for _, conn := range connections {
			conn.Close()
		}
	}
}

// lags returns the times from events to their messages at an analyst, while single payments are made.
func (a *App) lags(b *testing.B, m *merchant, option nats.Option) (lags []time.Duration) {
	b.Helper()
	conn, err := nats.Connect(a.ready().NATS, option)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		b.Fatal(err)
	}
	if _, err = js.OrderedConsumer(b.Context(), "EVENTS", jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverNewPolicy, FilterSubjects: []string{"events.*.payment.authorized"}}); err == nil {
		b.Fatal("a filter of all accounts is accepted")
	}
	account := string(a.credentials.AccountID)
	consumer, err := js.OrderedConsumer(b.Context(), "EVENTS", jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverNewPolicy, FilterSubjects: []string{"events." + account + ".payment.authorized"}})
	if err != nil {
		b.Fatal(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		b.Fatal(err)
	}
	defer messages.Stop()
	for _, token := range prepareTokens(b, m, 200) {
		payAll(b, m, []string{token})
		message, err := messages.Next()
		if err != nil {
			b.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339Nano, message.Headers().Get("ce-time"))
		if err != nil {
			b.Fatal(err)
		}
		lags = append(lags, time.Since(at))
	}
	return lags
}
