//go:build system

package kills

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/eventstoretest"
)

// TestEventsKilled: kills of the service while it makes payments and feeds EVENTS leave the stream
// with every event of the log once, at its position. The user's credentials and durable consumer
// survive as well.
func TestEventsKilled(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	const kills = 4
	dir := t.TempDir()
	start := func() *apptest.Process {
		return apptest.ServeProcess(t, "--data", dir, "--nats-listen", "127.0.0.1:0", "--log-level", "error")
	}
	p := start()
	key := p.Credentials.APIKey
	status, credentials, text := apptest.Invoke(t, "analytics-user", "warehouse", "--data", dir)
	if status != 0 {
		t.Fatal(text)
	}
	path := filepath.Join(t.TempDir(), "user.creds")
	if err := os.WriteFile(path, []byte(credentials), 0o600); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewSource(1))
	for round := range kills {
		m := apptest.NewMerchant(p.Ready.API, key)
		stop := time.AfterFunc(time.Duration(100+random.Intn(400))*time.Millisecond, p.Kill)
		var running sync.WaitGroup
		for w := range 4 {
			running.Go(func() {
				for n := 0; ; n++ {
					token, ok := m.TryToken(fmt.Sprintf("order-%d-%d-%d", round, w, n), 1000, "4111111111111111")
					if !ok {
						return
					}
					if _, err := m.Pay(token, ""); err != nil {
						return
					}
				}
			})
		}
		running.Wait()
		stop.Stop()
		p = start()
	}
	m := apptest.NewMerchant(p.Ready.API, key)
	var all []json.RawMessage
	for next := uint64(0); ; {
		var page struct {
			Data      []json.RawMessage `json:"data"`
			NextAfter uint64            `json:"nextAfter"`
		}
		m.Must(t, "GET", fmt.Sprintf("/events?limit=1000&after=%d", next), m.Headers(), nil).Decode(t, &page)
		all = append(all, page.Data...)
		if next = page.NextAfter; next == 0 {
			break
		}
	}
	conn, err := nats.Connect(p.Ready.NATS, nats.UserCredentials(path), nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := js.CreateOrUpdateConsumer(t.Context(), "EVENTS", jetstream.ConsumerConfig{Durable: "warehouse", AckPolicy: jetstream.AckNonePolicy})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer messages.Stop()
	for n, want := range all {
		message, err := messages.Next(jetstream.NextMaxWait(apptest.SettleDeadline))
		if err != nil {
			t.Fatalf("message %d of %d does not come: %v", n, len(all), err)
		}
		at, err := message.Metadata()
		var e struct{ Position uint64 }
		if err == nil {
			err = json.Unmarshal(want, &e)
		}
		if err != nil || at.Sequence.Stream != e.Position || string(message.Data()) != string(want) {
			t.Fatalf("message %d, %v, is\n%s\nGET /events has\n%s", n, err, message.Data(), want)
		}
	}
	t.Logf("%d events after %d kills", len(all), kills)
	p.Stop()
}
