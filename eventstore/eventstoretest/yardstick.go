package eventstoretest

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/jetapi"
)

// Yardstick is the rate of plain durable publishes.
type Yardstick struct {
	PerSecond float64       // messages
	Median    time.Duration // of one publish
}

// MeasureYardstick measures the best rate of this machine's disk and an embedded server: n plain messages of the given size, published
// to a number of streams, each writer with a connection of its own and waiting for its acknowledgement. The streams are
// configured like the log's. Every figure of the ledger is a ratio of the result. One stream is JetStream's own durable rate; as many
// streams as the log has shards show the gain by sharding.
func MeasureYardstick(t testing.TB, streams, writers, n, size int) Yardstick {
	t.Helper()
	server := Server(t, t.TempDir())
	clients := make([]*jetapi.Client, writers)
	for i := range clients {
		nc, err := server.Connect()
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		clients[i] = &jetapi.Client{Conn: nc}
	}
	js, err := jetstream.New(clients[0].Conn, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	for i := range streams {
		_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
			Name: "YARDSTICK_" + strconv.Itoa(i), Subjects: []string{"yardstick." + strconv.Itoa(i) + ".*"}, Storage: jetstream.FileStorage,
			Discard: jetstream.DiscardNew, Duplicates: 100 * time.Millisecond, AllowDirect: true, DenyDelete: true, DenyPurge: true,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	body, took := make([]byte, size), make([]time.Duration, n)
	start := time.Now()
	var running sync.WaitGroup
	for w, client := range clients {
		running.Go(func() {
			for i := w; i < n; i += writers {
				m := nats.NewMsg("yardstick." + strconv.Itoa(i%streams) + "." + strconv.Itoa(i))
				m.Data = body
				m.Header.Set(nats.ExpectedLastSubjSeqHdr, "0")
				began := time.Now()
				ack, err := client.Publish(t.Context(), m)
				if took[i] = time.Since(began); err != nil || ack.Seq == 0 {
					t.Errorf("yardstick: answer %+v, %v", ack, err)
					return
				}
			}
		})
	}
	running.Wait()
	y := Yardstick{PerSecond: float64(n) / time.Since(start).Seconds()}
	slices.Sort(took)
	y.Median = took[n/2]
	return y
}
